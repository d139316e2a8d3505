"""What is signed and sent: studies, answers, invitations, certificates, in one canonical form. Changed only with a
version.

`verification` (`coterie.verify`) is here because this is the lowest room that knows every kind of certificate: of rows
(promise), of statistics, and of several owners, which holds documents of this folder and is checked in all of them.
"""

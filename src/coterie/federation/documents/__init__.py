"""What is signed and sent: studies, answers, invitations, certificates, in one canonical form. Changed only with a
version."""

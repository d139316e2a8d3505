"""Several owners, one release: the aggregator and the owners as real services (Del Vasto-Terrientes et al.,
fragmented data).

`documents/` is what is signed and sent, `secrets/` who is who and who can read what. `aggregator/` (FastAPI, SQLAlchemy in
`storage/`) asks and joins; `owner/` (httpx, outward only) decides, protects its own table and sends only the protected one.
Nothing is imported here: the optional parts are needed only by those who serve or join.
"""

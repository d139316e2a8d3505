"""Several owners, one release: the aggregator and the owners as real services (paper 003).

    documents   canonical, envelope, study, answers, certificate   what is signed, and by whom
    secrets     keys, sealing, pseudonyms, tls, invitation         who is who, and who can read what
    rules       states, composition, wire                          one table of transitions, one of limits
    services    aggregator/, owner/, storage/                      FastAPI + SQLAlchemy; httpx, outward only

Nothing is imported here: the optional parts are needed only by those who serve or join.
"""

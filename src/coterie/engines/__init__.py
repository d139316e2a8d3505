"""Where the chain runs. Every engine has the same verbs (rank, summarise, attach) and the same results."""

"""Who is who and who can read what: keys, sealed parts, blinded ids, TLS."""

"""How wrong a published figure will be: noise models, error metrics, derivatives, simulation. Reads no data."""

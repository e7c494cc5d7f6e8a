"""All that survives a kill: whole files or none, embeddings kept from one run to the next, model files."""

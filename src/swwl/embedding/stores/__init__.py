"""Very many meshes: a sample settles the embeddings, and shards of a store keep a few numbers of every mesh."""

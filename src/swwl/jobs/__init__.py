"""What commands do, without what they say."""

"""What is looked at: the record and where it comes from, the state of the views, and where one is in them."""

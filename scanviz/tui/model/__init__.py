"""The model of the application: records and their sources, the state of the views, and positions in them."""

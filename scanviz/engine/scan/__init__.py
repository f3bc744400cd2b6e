"""scan: loops as graph nodes, from the user's step function to typed loop variables and the documents' views of them."""

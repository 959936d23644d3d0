"""What operators do: POST forms that answer as the API does, audited under the user's name."""

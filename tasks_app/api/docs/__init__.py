"""The API's document (OpenAPI): one decorator per view method, in modules named as the views' are."""

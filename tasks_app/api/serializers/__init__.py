"""The shapes of requests and answers for the OpenAPI document.

Nothing here runs when a request is served: what is accepted is decided by ``domain.submission`` alone, what is answered
by ``representation``. Tests validate real answers against the document, so the three cannot drift apart.
"""

"""How the queue's facts look: words, tones, numbers and times. No Redis and no request in here."""

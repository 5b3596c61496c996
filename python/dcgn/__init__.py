"""What goes with Decagon in Python: pictures of what `dcgn bench` measured."""

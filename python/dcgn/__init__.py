"""What goes with Decagon in Python: pictures of what `dcgn bench` measured, and the simulator of memory networks."""

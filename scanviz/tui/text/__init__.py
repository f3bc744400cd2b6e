"""Texts that views draw: charts, bars, rulers, pictures, and a script's output."""

"""What views draw as text: charts, bars, rulers, pictures, and what a script prints."""

"""What results look like to those who take them away."""

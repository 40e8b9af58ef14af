"""What code in a kernel finds on Google's machines, as far as it asks the page for something."""

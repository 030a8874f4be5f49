"""An autograder for Gradescope: the zip file to upload, and what runs in their container."""

int plain() { return 3; }

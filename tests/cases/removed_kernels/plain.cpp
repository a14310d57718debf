int plain(int x) { return x; }

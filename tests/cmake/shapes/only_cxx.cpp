int launch();

int main() { return launch() == 0; }

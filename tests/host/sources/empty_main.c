/* A program whose only work is registration. */
int main(void)
{
    return 0;
}

struct Animal {
    __device__ virtual int sound(int x) = 0;
    __device__ virtual int legs() { return 4; }
};
struct Cat : Animal {
    __device__ int sound(int x) override;
    __device__ int legs() override;
};

namespace geometry {
struct Shape {
    int size;
    __device__ explicit Shape(int size);
    __device__ ~Shape();
    __device__ int area() const;
    __device__ operator int() const;
};
__device__ Shape operator+(const Shape &a, const Shape &b);
__device__ bool operator==(const Shape &a, const Shape &b);
}

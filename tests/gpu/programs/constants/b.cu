__constant__ int before[3] = {7, 7, 7};
__constant__ int weights[4] = {1, 3, 5, 7};

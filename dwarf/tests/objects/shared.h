// Types of every kind.
typedef unsigned int u32;
typedef unsigned long long u64;
struct forward;
union forward_union;
enum small { A, B = 5, C = 0x7fffffff };
enum negative { N = -1, Z };
enum wide { WIDE = 0x1ffffffffULL, ONE = 1 };
enum high { HIGH = 0xffffffffu };
enum __attribute__((packed)) tiny { T1, T2 };
struct bits {
	u32 a : 3;
	u32 b : 7;
	int c : 5;
	u64 d : 40;
	_Bool e : 1;
	enum high f : 31;
	u32 : 0;
	u32 g : 9;
	unsigned char h : 2;
};
struct list {
	struct list *next, **prev;
};
union number {
	int i;
	float f;
	double d;
	char c[16];
};
struct outer {
	struct {
		int x;
		union {
			long y;
			char z[3][4];
		};
	};
	const volatile char *restrict p;
	int (*fn)(const struct list *, u32 n, ...);
	struct forward *forward;
	union forward_union *forward_union;
	void *v;
	void (*vf)(void);
	_Bool b;
	signed char sc;
	unsigned char uc;
	struct bits bits;
	int flexible[];
};
typedef struct {
	int in_typedef;
} unnamed;
typedef int matrix[2][3];
struct several {
	char none[0];
	matrix a;
	unnamed b;
	enum small s;
	enum negative n;
	enum wide w;
	enum tiny t;
	enum high h;
	struct list l[4];
	union number u;
};

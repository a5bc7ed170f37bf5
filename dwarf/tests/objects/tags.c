// Tags. clang writes both DWARF and BTF for the target bpf.
#define tag(t) __attribute__((btf_decl_tag(t)))
#define type_tag(t) __attribute__((btf_type_tag(t)))
typedef int number tag("of typedef");
struct tagged {
	int a tag("of member");
	int type_tag("first") type_tag("second") * p;
} tag("of struct") tag("again");
int function(struct tagged *t tag("of parameter"), number n) tag("of function");
int function(struct tagged *t, number n)
{
	return t->a + n;
}

	.file	"LLVMDialectModule"
	.text
	.globl	k
	.p2align	4
	.type	k,@function
k:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	movq	216(%rsp), %r9
	movq	88(%rsp), %r11
	movq	%rdi, %r8
	testq	%r9, %r9
	leaq	511(%r9), %rax
	cmovnsq	%r9, %rax
	setns	%dl
	movq	%rax, %rdi
	andq	$-512, %rdi
	cmpq	%rdi, %r9
	setne	%dil
	cmpq	$1, %r9
	jne	.LBB0_1
	cmpq	$21, %rsi
	movl	$21, %eax
	movq	%r8, -72(%rsp)
	cmovlq	%rsi, %rax
	subq	%r8, %rax
	movq	%rax, %rdx
	sarq	$63, %rdx
	andnq	%rax, %rdx, %rdi
	movabsq	$9223372036854775804, %rax
	andq	%rdi, %rax
	addq	%r8, %rax
	cmpq	%rax, %r8
	jge	.LBB0_10
	movq	-72(%rsp), %rbx
	leaq	4(%rcx), %r8
	movabsq	$3353953467947191203, %r10
	leaq	(%rbx,%rbx,2), %rdx
	shlq	$16, %rdx
	leaq	594752(%r11,%rdx), %r9
	leaq	(%r11,%rdx), %rbp
	movq	%rbx, %rdx
	.p2align	4
.LBB0_7:
	mulxq	%r10, %r15, %r15
	vxorps	%xmm0, %xmm0, %xmm0
	xorl	%r13d, %r13d
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm4, %xmm4, %xmm4
	vxorps	%xmm5, %xmm5, %xmm5
	vxorps	%xmm6, %xmm6, %xmm6
	vxorps	%xmm7, %xmm7, %xmm7
	vxorps	%xmm8, %xmm8, %xmm8
	vxorps	%xmm9, %xmm9, %xmm9
	vxorps	%xmm10, %xmm10, %xmm10
	vxorps	%xmm11, %xmm11, %xmm11
	shrq	$2, %r15
	leaq	(%r15,%r15,4), %r12
	imulq	$-4325376, %r15, %rbx
	leaq	(%r15,%r12,4), %r12
	leaq	(%rbp,%rbx), %r14
	addq	%r9, %rbx
	addq	%r15, %r12
	movq	%rdx, %r15
	subq	%r12, %r15
	movq	%r8, %r12
	.p2align	4
.LBB0_8:
	vbroadcastss	-4(%r12), %zmm12
	prefetcht1	-590144(%rbx,%r13)
	prefetcht1	-590080(%rbx,%r13)
	prefetcht1	-590016(%rbx,%r13)
	prefetcht1	-393536(%rbx,%r13)
	prefetcht1	-393472(%rbx,%r13)
	prefetcht1	-393408(%rbx,%r13)
	prefetcht1	-196928(%rbx,%r13)
	prefetcht1	-196864(%rbx,%r13)
	prefetcht1	-196800(%rbx,%r13)
	prefetcht1	-320(%rbx,%r13)
	prefetcht1	-256(%rbx,%r13)
	prefetcht1	-192(%rbx,%r13)
	prefetcht1	-589952(%rbx,%r13)
	prefetcht1	-589888(%rbx,%r13)
	prefetcht1	-589824(%rbx,%r13)
	prefetcht1	-393344(%rbx,%r13)
	prefetcht1	-393280(%rbx,%r13)
	prefetcht1	-393216(%rbx,%r13)
	prefetcht1	-196736(%rbx,%r13)
	prefetcht1	-196672(%rbx,%r13)
	prefetcht1	-196608(%rbx,%r13)
	prefetcht1	-128(%rbx,%r13)
	prefetcht1	-64(%rbx,%r13)
	prefetcht1	(%rbx,%r13)
	vfmadd231ps	(%r14,%r13), %zmm12, %zmm11
	vfmadd231ps	64(%r14,%r13), %zmm12, %zmm10
	vfmadd231ps	128(%r14,%r13), %zmm12, %zmm9
	vfmadd231ps	196608(%r14,%r13), %zmm12, %zmm8
	vfmadd231ps	196672(%r14,%r13), %zmm12, %zmm7
	vfmadd231ps	196736(%r14,%r13), %zmm12, %zmm6
	vfmadd231ps	393216(%r14,%r13), %zmm12, %zmm5
	vfmadd231ps	393280(%r14,%r13), %zmm12, %zmm4
	vfmadd231ps	393344(%r14,%r13), %zmm12, %zmm3
	vfmadd231ps	589824(%r14,%r13), %zmm12, %zmm2
	vfmadd231ps	589888(%r14,%r13), %zmm12, %zmm1
	vfmadd231ps	589952(%r14,%r13), %zmm12, %zmm0
	vbroadcastss	(%r12), %zmm12
	addq	$8, %r12
	vfmadd231ps	192(%r14,%r13), %zmm12, %zmm11
	vfmadd231ps	256(%r14,%r13), %zmm12, %zmm10
	vfmadd231ps	320(%r14,%r13), %zmm12, %zmm9
	vfmadd231ps	196800(%r14,%r13), %zmm12, %zmm8
	vfmadd231ps	196864(%r14,%r13), %zmm12, %zmm7
	vfmadd231ps	196928(%r14,%r13), %zmm12, %zmm6
	vfmadd231ps	393408(%r14,%r13), %zmm12, %zmm5
	vfmadd231ps	393472(%r14,%r13), %zmm12, %zmm4
	vfmadd231ps	393536(%r14,%r13), %zmm12, %zmm3
	vfmadd231ps	590016(%r14,%r13), %zmm12, %zmm2
	vfmadd231ps	590080(%r14,%r13), %zmm12, %zmm1
	vfmadd231ps	590144(%r14,%r13), %zmm12, %zmm0
	addq	$384, %r13
	cmpq	$196608, %r13
	jne	.LBB0_8
	movq	200(%rsp), %r14
	leaq	(%r15,%r15,2), %rbx
	addq	$4, %rdx
	addq	$786432, %rbp
	addq	$786432, %r9
	shlq	$6, %rbx
	vmovups	%zmm11, (%r14,%rbx)
	vmovups	%zmm10, 64(%r14,%rbx)
	vmovups	%zmm9, 128(%r14,%rbx)
	vmovups	%zmm8, 192(%r14,%rbx)
	vmovups	%zmm7, 256(%r14,%rbx)
	vmovups	%zmm6, 320(%r14,%rbx)
	vmovups	%zmm5, 384(%r14,%rbx)
	vmovups	%zmm4, 448(%r14,%rbx)
	vmovups	%zmm3, 512(%r14,%rbx)
	vmovups	%zmm2, 576(%r14,%rbx)
	vmovups	%zmm1, 640(%r14,%rbx)
	vmovups	%zmm0, 704(%r14,%rbx)
	cmpq	%rax, %rdx
	jl	.LBB0_7
.LBB0_10:
	movq	-72(%rsp), %r8
	cmpq	%rsi, %rax
	jge	.LBB0_89
	shrq	$2, %rdi
	leaq	(%r8,%r8,2), %r8
	leaq	4128768(%r11), %r15
	addq	$28, %rcx
	movabsq	$3353953467947191203, %r9
	leaq	(%rdi,%rdi,2), %rdx
	shlq	$16, %r8
	shlq	$18, %rdx
	addq	%rdx, %r8
	leaq	(%r11,%r8), %rdi
	leaq	6080(%r11,%r8), %r8
	jmp	.LBB0_12
	.p2align	4
.LBB0_19:
	incq	%rax
	addq	$196608, %rdi
	addq	$196608, %r8
	cmpq	%rsi, %rax
	jge	.LBB0_89
.LBB0_12:
	movq	%rax, %rdx
	mulxq	%r9, %r10, %r10
	movq	%rax, %r11
	shrq	$2, %r10
	leaq	(%r10,%r10,4), %rdx
	leaq	(%r10,%rdx,4), %rdx
	addq	%r10, %rdx
	subq	%rdx, %r11
	movq	%r11, %rdx
	shlq	$4, %rdx
	leaq	(%rdx,%rdx,2), %rdx
	cmpq	$21, %r11
	jae	.LBB0_13
	imulq	$-4325376, %r10, %r10
	vxorps	%xmm0, %xmm0, %xmm0
	movq	%rcx, %rbx
	xorl	%r14d, %r14d
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	leaq	(%rdi,%r10), %r11
	addq	%r8, %r10
	.p2align	4
.LBB0_17:
	vbroadcastss	-28(%rbx), %zmm3
	prefetcht1	-1472(%r10,%r14)
	prefetcht1	-1408(%r10,%r14)
	prefetcht1	-1344(%r10,%r14)
	prefetcht1	-1280(%r10,%r14)
	prefetcht1	-1216(%r10,%r14)
	prefetcht1	-1152(%r10,%r14)
	prefetcht1	-1088(%r10,%r14)
	prefetcht1	-1024(%r10,%r14)
	prefetcht1	-960(%r10,%r14)
	prefetcht1	-896(%r10,%r14)
	prefetcht1	-832(%r10,%r14)
	prefetcht1	-768(%r10,%r14)
	prefetcht1	-704(%r10,%r14)
	prefetcht1	-640(%r10,%r14)
	prefetcht1	-576(%r10,%r14)
	prefetcht1	-512(%r10,%r14)
	prefetcht1	-448(%r10,%r14)
	prefetcht1	-384(%r10,%r14)
	prefetcht1	-320(%r10,%r14)
	prefetcht1	-256(%r10,%r14)
	prefetcht1	-192(%r10,%r14)
	prefetcht1	-128(%r10,%r14)
	prefetcht1	-64(%r10,%r14)
	prefetcht1	(%r10,%r14)
	vfmadd231ps	(%r11,%r14), %zmm3, %zmm2
	vfmadd231ps	64(%r11,%r14), %zmm3, %zmm1
	vfmadd231ps	128(%r11,%r14), %zmm3, %zmm0
	vbroadcastss	-24(%rbx), %zmm3
	vfmadd231ps	192(%r11,%r14), %zmm3, %zmm2
	vfmadd231ps	256(%r11,%r14), %zmm3, %zmm1
	vfmadd231ps	320(%r11,%r14), %zmm3, %zmm0
	vbroadcastss	-20(%rbx), %zmm3
	vfmadd231ps	384(%r11,%r14), %zmm3, %zmm2
	vfmadd231ps	448(%r11,%r14), %zmm3, %zmm1
	vfmadd231ps	512(%r11,%r14), %zmm3, %zmm0
	vbroadcastss	-16(%rbx), %zmm3
	vfmadd231ps	576(%r11,%r14), %zmm3, %zmm2
	vfmadd231ps	640(%r11,%r14), %zmm3, %zmm1
	vfmadd231ps	704(%r11,%r14), %zmm3, %zmm0
	vbroadcastss	-12(%rbx), %zmm3
	vfmadd231ps	768(%r11,%r14), %zmm3, %zmm2
	vfmadd231ps	832(%r11,%r14), %zmm3, %zmm1
	vfmadd231ps	896(%r11,%r14), %zmm3, %zmm0
	vbroadcastss	-8(%rbx), %zmm3
	vfmadd231ps	960(%r11,%r14), %zmm3, %zmm2
	vfmadd231ps	1024(%r11,%r14), %zmm3, %zmm1
	vfmadd231ps	1088(%r11,%r14), %zmm3, %zmm0
	vbroadcastss	-4(%rbx), %zmm3
	vfmadd231ps	1152(%r11,%r14), %zmm3, %zmm2
	vfmadd231ps	1216(%r11,%r14), %zmm3, %zmm1
	vfmadd231ps	1280(%r11,%r14), %zmm3, %zmm0
	vbroadcastss	(%rbx), %zmm3
	addq	$32, %rbx
	vfmadd231ps	1344(%r11,%r14), %zmm3, %zmm2
	vfmadd231ps	1408(%r11,%r14), %zmm3, %zmm1
	vfmadd231ps	1472(%r11,%r14), %zmm3, %zmm0
	addq	$1536, %r14
	cmpq	$196608, %r14
	jne	.LBB0_17
	movq	200(%rsp), %r10
	vmovups	%zmm2, (%r10,%rdx,4)
	vmovups	%zmm1, 64(%r10,%rdx,4)
	vmovups	%zmm0, 128(%r10,%rdx,4)
	jmp	.LBB0_19
	.p2align	4
.LBB0_13:
	vxorps	%xmm0, %xmm0, %xmm0
	movq	%r15, %r10
	xorl	%r11d, %r11d
	.p2align	4
.LBB0_14:
	vbroadcastss	-28(%rcx,%r11,4), %zmm1
	vbroadcastss	-20(%rcx,%r11,4), %zmm2
	vbroadcastss	-16(%rcx,%r11,4), %zmm3
	prefetcht1	4608(%r10)
	prefetcht1	4800(%r10)
	prefetcht1	4992(%r10)
	prefetcht1	5184(%r10)
	prefetcht1	5376(%r10)
	prefetcht1	5568(%r10)
	prefetcht1	5760(%r10)
	prefetcht1	5952(%r10)
	vfmadd132ps	(%r10), %zmm0, %zmm1
	vbroadcastss	-24(%rcx,%r11,4), %zmm0
	vfmadd132ps	192(%r10), %zmm1, %zmm0
	vbroadcastss	-8(%rcx,%r11,4), %zmm1
	vfmadd132ps	384(%r10), %zmm0, %zmm2
	vbroadcastss	-12(%rcx,%r11,4), %zmm0
	vfmadd132ps	576(%r10), %zmm2, %zmm3
	vbroadcastss	-4(%rcx,%r11,4), %zmm2
	vfmadd132ps	768(%r10), %zmm3, %zmm0
	vfmadd132ps	960(%r10), %zmm0, %zmm1
	vbroadcastss	(%rcx,%r11,4), %zmm0
	addq	$8, %r11
	vfmadd132ps	1152(%r10), %zmm1, %zmm2
	vfmadd132ps	1344(%r10), %zmm2, %zmm0
	addq	$1536, %r10
	cmpq	$1024, %r11
	jne	.LBB0_14
	movq	200(%rsp), %r10
	vmovups	%zmm0, (%r10,%rdx,4)
	jmp	.LBB0_19
.LBB0_1:
	cmpq	%rsi, %r8
	jge	.LBB0_89
	leaq	(%r8,%r8,2), %r10
	andb	%dil, %dl
	sarq	$9, %rax
	movq	%rsi, -8(%rsp)
	movzbl	%dl, %edi
	shlq	$16, %r10
	addq	%rax, %rdi
	leaq	768(%r10,%r11), %rax
	leaq	384(%r10,%r11), %r9
	leaq	192(%r10,%r11), %rdx
	movq	%rdi, -16(%rsp)
	movq	%rax, -40(%rsp)
	movq	%r9, -48(%rsp)
	movq	%rdx, -56(%rsp)
	jmp	.LBB0_3
	.p2align	4
.LBB0_88:
	movq	-72(%rsp), %r8
	addq	$196608, -40(%rsp)
	addq	$196608, -48(%rsp)
	addq	$196608, -56(%rsp)
	movq	-16(%rsp), %rdi
	incq	%r8
	cmpq	-8(%rsp), %r8
	je	.LBB0_89
.LBB0_3:
	movabsq	$3353953467947191203, %rax
	movq	%r8, %rdx
	mulxq	%rax, %r9, %r9
	shrq	$2, %r9
	movq	%r9, %rax
	orq	%rdi, %rax
	shrq	$32, %rax
	je	.LBB0_4
	movq	%r9, %rax
	xorl	%edx, %edx
	divq	%rdi
	movq	%rdx, %r10
	jmp	.LBB0_21
	.p2align	4
.LBB0_4:
	movl	%r9d, %eax
	xorl	%edx, %edx
	divl	%edi
	movl	%edx, %r10d
.LBB0_21:
	leaq	(%r9,%r9,4), %rax
	movq	%r8, -72(%rsp)
	movq	200(%rsp), %rdi
	shlq	$9, %r10
	movl	$512, %r15d
	movq	%r10, -24(%rsp)
	leaq	(%r9,%rax,4), %rdx
	movq	%r8, %rax
	movq	216(%rsp), %r8
	addq	%r9, %rdx
	subq	%rdx, %rax
	movq	%rax, %rdx
	shlq	$4, %rdx
	leaq	(%rdx,%rdx,2), %rsi
	subq	%r10, %r8
	cmpq	$512, %r8
	movq	%r8, -32(%rsp)
	leaq	(%rdi,%rsi,4), %rdx
	cmovlq	%r8, %r15
	movq	%rdx, -80(%rsp)
	cmpq	$20, %rax
	ja	.LBB0_55
	testq	%r8, %r8
	jle	.LBB0_88
	movq	-56(%rsp), %rdx
	movq	-48(%rsp), %rdi
	imulq	$-4325376, %r9, %r9
	leaq	(%rax,%rax,2), %rax
	xorl	%ebx, %ebx
	shlq	$16, %rax
	leaq	196608(%r11,%rax), %rax
	leaq	(%rdx,%r9), %rbp
	addq	%r9, %rdi
	addq	-40(%rsp), %r9
	movq	%rax, -64(%rsp)
	jmp	.LBB0_24
	.p2align	4
.LBB0_54:
	movq	-24(%rsp), %r10
	movq	-32(%rsp), %r8
	cmpq	%r15, %rbx
	jge	.LBB0_88
.LBB0_24:
	movq	%r15, %rax
	subq	%rbx, %rax
	cmpq	$8, %r8
	jb	.LBB0_32
	cmpq	$5, %rax
	jl	.LBB0_32
	leaq	-8(%r15), %rax
	cmpq	%rax, %rbx
	cmovgeq	%rax, %rbx
	cmpq	$384, %r15
	ja	.LBB0_27
	movl	$384, %eax
	xorl	%edx, %edx
	divl	%r15d
	jmp	.LBB0_29
	.p2align	4
.LBB0_32:
	cmpq	$4, %r8
	jb	.LBB0_40
	cmpq	$3, %rax
	jl	.LBB0_40
	leaq	-4(%r15), %rax
	cmpq	%rax, %rbx
	cmovgeq	%rax, %rbx
	cmpq	$192, %r15
	ja	.LBB0_35
	movl	$192, %eax
	xorl	%edx, %edx
	divl	%r15d
	jmp	.LBB0_37
	.p2align	4
.LBB0_40:
	cmpq	$1, %r8
	je	.LBB0_48
	cmpq	$2, %rax
	jl	.LBB0_48
	leaq	-2(%r15), %rax
	cmpq	%rax, %rbx
	cmovgeq	%rax, %rbx
	cmpq	$96, %r15
	ja	.LBB0_43
	movl	$96, %eax
	xorl	%edx, %edx
	divl	%r15d
	jmp	.LBB0_45
	.p2align	4
.LBB0_27:
	xorl	%eax, %eax
.LBB0_29:
	movq	%rax, %r8
	imulq	%r15, %r8
	leaq	(%rbx,%r10), %rdx
	xorl	%r10d, %r10d
	movq	-64(%rsp), %r12
	vxorps	%xmm0, %xmm0, %xmm0
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm4, %xmm4, %xmm4
	vxorps	%xmm5, %xmm5, %xmm5
	vxorps	%xmm6, %xmm6, %xmm6
	vxorps	%xmm7, %xmm7, %xmm7
	vxorps	%xmm8, %xmm8, %xmm8
	vxorps	%xmm9, %xmm9, %xmm9
	vxorps	%xmm10, %xmm10, %xmm10
	vxorps	%xmm11, %xmm11, %xmm11
	vxorps	%xmm12, %xmm12, %xmm12
	vxorps	%xmm13, %xmm13, %xmm13
	vxorps	%xmm14, %xmm14, %xmm14
	vxorps	%xmm15, %xmm15, %xmm15
	vxorps	%xmm16, %xmm16, %xmm16
	vxorps	%xmm17, %xmm17, %xmm17
	vxorps	%xmm18, %xmm18, %xmm18
	vxorps	%xmm19, %xmm19, %xmm19
	vxorps	%xmm20, %xmm20, %xmm20
	vxorps	%xmm21, %xmm21, %xmm21
	vxorps	%xmm22, %xmm22, %xmm22
	vxorps	%xmm23, %xmm23, %xmm23
	cmpq	$384, %r8
	movabsq	$4611686018427386880, %r8
	setne	%r10b
	addq	%rax, %r10
	movl	$16, %eax
	cmpq	$16, %r10
	cmovaeq	%rax, %r10
	movq	%rbx, %rax
	shlq	$7, %rax
	shlq	$12, %rdx
	xorl	%r14d, %r14d
	xorl	%r13d, %r13d
	andq	%r8, %rax
	imulq	%r10, %rax
	leaq	(%r12,%rax,4), %rax
	leaq	(%rcx,%rdx), %r12
	.p2align	4
.LBB0_30:
	vbroadcastss	4096(%r12,%r13,4), %zmm28
	vmovups	-192(%rbp,%r14,4), %zmm24
	vmovups	-128(%rbp,%r14,4), %zmm25
	vmovups	-64(%rbp,%r14,4), %zmm26
	vbroadcastss	8192(%r12,%r13,4), %zmm29
	vbroadcastss	(%r12,%r13,4), %zmm27
	movq	%r13, %r8
	imulq	%r10, %r8
	prefetcht1	(%rax,%r8,4)
	movq	%r13, %r8
	orq	$1, %r8
	imulq	%r10, %r8
	prefetcht1	(%rax,%r8,4)
	vfmadd231ps	%zmm24, %zmm28, %zmm20
	vfmadd231ps	%zmm25, %zmm28, %zmm19
	vfmadd231ps	%zmm28, %zmm26, %zmm18
	vbroadcastss	12288(%r12,%r13,4), %zmm28
	vfmadd231ps	%zmm24, %zmm29, %zmm17
	vfmadd231ps	%zmm25, %zmm29, %zmm16
	vfmadd231ps	%zmm29, %zmm26, %zmm15
	vbroadcastss	16384(%r12,%r13,4), %zmm29
	vfmadd231ps	%zmm24, %zmm27, %zmm23
	vfmadd231ps	%zmm25, %zmm27, %zmm22
	vfmadd231ps	%zmm27, %zmm26, %zmm21
	vfmadd231ps	%zmm24, %zmm28, %zmm14
	vfmadd231ps	%zmm25, %zmm28, %zmm13
	vfmadd231ps	%zmm28, %zmm26, %zmm12
	vbroadcastss	20480(%r12,%r13,4), %zmm28
	vfmadd231ps	%zmm24, %zmm29, %zmm11
	vfmadd231ps	%zmm25, %zmm29, %zmm10
	vfmadd231ps	%zmm29, %zmm26, %zmm9
	vbroadcastss	24576(%r12,%r13,4), %zmm29
	vfmadd231ps	%zmm24, %zmm28, %zmm8
	vfmadd231ps	%zmm25, %zmm28, %zmm7
	vfmadd231ps	%zmm28, %zmm26, %zmm6
	vbroadcastss	28672(%r12,%r13,4), %zmm28
	vfmadd231ps	%zmm24, %zmm29, %zmm5
	vfmadd231ps	%zmm25, %zmm29, %zmm4
	vfmadd231ps	%zmm29, %zmm26, %zmm3
	vbroadcastss	4(%r12,%r13,4), %zmm29
	vfmadd231ps	%zmm24, %zmm28, %zmm2
	vfmadd231ps	%zmm25, %zmm28, %zmm1
	vfmadd231ps	%zmm26, %zmm28, %zmm0
	vbroadcastss	4100(%r12,%r13,4), %zmm28
	vmovups	(%rbp,%r14,4), %zmm24
	vmovups	64(%rbp,%r14,4), %zmm25
	vmovups	128(%rbp,%r14,4), %zmm26
	addq	$96, %r14
	vfmadd231ps	%zmm24, %zmm29, %zmm23
	vfmadd231ps	%zmm25, %zmm29, %zmm22
	vfmadd231ps	%zmm29, %zmm26, %zmm21
	vbroadcastss	8196(%r12,%r13,4), %zmm29
	vfmadd231ps	%zmm24, %zmm28, %zmm20
	vfmadd231ps	%zmm25, %zmm28, %zmm19
	vfmadd231ps	%zmm28, %zmm26, %zmm18
	vbroadcastss	12292(%r12,%r13,4), %zmm28
	vfmadd231ps	%zmm24, %zmm29, %zmm17
	vfmadd231ps	%zmm25, %zmm29, %zmm16
	vfmadd231ps	%zmm29, %zmm26, %zmm15
	vbroadcastss	16388(%r12,%r13,4), %zmm29
	vfmadd231ps	%zmm24, %zmm28, %zmm14
	vfmadd231ps	%zmm25, %zmm28, %zmm13
	vfmadd231ps	%zmm28, %zmm26, %zmm12
	vbroadcastss	20484(%r12,%r13,4), %zmm28
	vfmadd231ps	%zmm24, %zmm29, %zmm11
	vfmadd231ps	%zmm25, %zmm29, %zmm10
	vfmadd231ps	%zmm29, %zmm26, %zmm9
	vbroadcastss	24580(%r12,%r13,4), %zmm29
	vfmadd231ps	%zmm24, %zmm28, %zmm8
	vfmadd231ps	%zmm25, %zmm28, %zmm7
	vfmadd231ps	%zmm28, %zmm26, %zmm6
	vbroadcastss	28676(%r12,%r13,4), %zmm28
	addq	$2, %r13
	vfmadd231ps	%zmm24, %zmm29, %zmm5
	vfmadd231ps	%zmm25, %zmm29, %zmm4
	vfmadd231ps	%zmm29, %zmm26, %zmm3
	vfmadd231ps	%zmm24, %zmm28, %zmm2
	vfmadd231ps	%zmm25, %zmm28, %zmm1
	vfmadd231ps	%zmm26, %zmm28, %zmm0
	cmpq	$49152, %r14
	jne	.LBB0_30
	movq	-80(%rsp), %rax
	addq	$8, %rbx
	vmovups	%zmm23, (%rax,%rdx)
	vmovups	%zmm22, 64(%rax,%rdx)
	vmovups	%zmm21, 128(%rax,%rdx)
	addq	200(%rsp), %rdx
	vmovups	%zmm20, 4096(%rdx,%rsi,4)
	vmovups	%zmm19, 4160(%rdx,%rsi,4)
	vmovups	%zmm18, 4224(%rdx,%rsi,4)
	vmovups	%zmm17, 8192(%rdx,%rsi,4)
	vmovups	%zmm16, 8256(%rdx,%rsi,4)
	vmovups	%zmm15, 8320(%rdx,%rsi,4)
	vmovups	%zmm14, 12288(%rdx,%rsi,4)
	vmovups	%zmm13, 12352(%rdx,%rsi,4)
	vmovups	%zmm12, 12416(%rdx,%rsi,4)
	vmovups	%zmm11, 16384(%rdx,%rsi,4)
	vmovups	%zmm10, 16448(%rdx,%rsi,4)
	vmovups	%zmm9, 16512(%rdx,%rsi,4)
	vmovups	%zmm8, 20480(%rdx,%rsi,4)
	vmovups	%zmm7, 20544(%rdx,%rsi,4)
	vmovups	%zmm6, 20608(%rdx,%rsi,4)
	vmovups	%zmm5, 24576(%rdx,%rsi,4)
	vmovups	%zmm4, 24640(%rdx,%rsi,4)
	vmovups	%zmm3, 24704(%rdx,%rsi,4)
	vmovups	%zmm2, 28672(%rdx,%rsi,4)
	vmovups	%zmm1, 28736(%rdx,%rsi,4)
	vmovups	%zmm0, 28800(%rdx,%rsi,4)
	jmp	.LBB0_54
.LBB0_48:
	cmpq	$48, %r15
	ja	.LBB0_49
	movl	$48, %eax
	xorl	%edx, %edx
	divl	%r15d
	jmp	.LBB0_51
.LBB0_35:
	xorl	%eax, %eax
.LBB0_37:
	leaq	(%rbx,%r10), %rdx
	movq	%rax, %r10
	imulq	%r15, %r10
	xorl	%r8d, %r8d
	movq	-64(%rsp), %r13
	vxorps	%xmm0, %xmm0, %xmm0
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm4, %xmm4, %xmm4
	vxorps	%xmm5, %xmm5, %xmm5
	vxorps	%xmm6, %xmm6, %xmm6
	vxorps	%xmm7, %xmm7, %xmm7
	vxorps	%xmm8, %xmm8, %xmm8
	vxorps	%xmm9, %xmm9, %xmm9
	vxorps	%xmm10, %xmm10, %xmm10
	vxorps	%xmm11, %xmm11, %xmm11
	cmpq	$192, %r10
	movabsq	$4611686018427386880, %r10
	setne	%r8b
	addq	%rax, %r8
	movl	$16, %eax
	cmpq	$16, %r8
	cmovaeq	%rax, %r8
	movq	%rbx, %rax
	shlq	$8, %rax
	shlq	$12, %rdx
	xorl	%r14d, %r14d
	xorl	%r12d, %r12d
	andq	%r10, %rax
	leaq	(%rcx,%rdx), %r10
	imulq	%r8, %rax
	leaq	(%r13,%rax,4), %rax
	.p2align	4
.LBB0_38:
	vbroadcastss	4096(%r10,%r12,4), %zmm16
	vmovups	-192(%rbp,%r14,4), %zmm12
	vmovups	-128(%rbp,%r14,4), %zmm13
	vmovups	-64(%rbp,%r14,4), %zmm14
	vbroadcastss	8192(%r10,%r12,4), %zmm17
	vbroadcastss	(%r10,%r12,4), %zmm15
	movq	%r12, %r13
	imulq	%r8, %r13
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$1, %r13
	imulq	%r8, %r13
	prefetcht1	(%rax,%r13,4)
	vfmadd231ps	%zmm12, %zmm16, %zmm8
	vfmadd231ps	%zmm13, %zmm16, %zmm7
	vfmadd231ps	%zmm16, %zmm14, %zmm6
	vbroadcastss	12288(%r10,%r12,4), %zmm16
	vfmadd231ps	%zmm12, %zmm17, %zmm5
	vfmadd231ps	%zmm13, %zmm17, %zmm4
	vfmadd231ps	%zmm17, %zmm14, %zmm3
	vbroadcastss	4(%r10,%r12,4), %zmm17
	vfmadd231ps	%zmm12, %zmm15, %zmm11
	vfmadd231ps	%zmm13, %zmm15, %zmm10
	vfmadd231ps	%zmm15, %zmm14, %zmm9
	vfmadd231ps	%zmm12, %zmm16, %zmm2
	vfmadd231ps	%zmm13, %zmm16, %zmm1
	vfmadd231ps	%zmm14, %zmm16, %zmm0
	vbroadcastss	4100(%r10,%r12,4), %zmm16
	vmovups	(%rbp,%r14,4), %zmm12
	vmovups	64(%rbp,%r14,4), %zmm13
	vmovups	128(%rbp,%r14,4), %zmm14
	addq	$96, %r14
	vfmadd231ps	%zmm12, %zmm17, %zmm11
	vfmadd231ps	%zmm13, %zmm17, %zmm10
	vfmadd231ps	%zmm17, %zmm14, %zmm9
	vbroadcastss	8196(%r10,%r12,4), %zmm17
	vfmadd231ps	%zmm12, %zmm16, %zmm8
	vfmadd231ps	%zmm13, %zmm16, %zmm7
	vfmadd231ps	%zmm16, %zmm14, %zmm6
	vbroadcastss	12292(%r10,%r12,4), %zmm16
	addq	$2, %r12
	vfmadd231ps	%zmm12, %zmm17, %zmm5
	vfmadd231ps	%zmm13, %zmm17, %zmm4
	vfmadd231ps	%zmm17, %zmm14, %zmm3
	vfmadd231ps	%zmm12, %zmm16, %zmm2
	vfmadd231ps	%zmm13, %zmm16, %zmm1
	vfmadd231ps	%zmm14, %zmm16, %zmm0
	cmpq	$49152, %r14
	jne	.LBB0_38
	movq	-80(%rsp), %rax
	addq	$4, %rbx
	vmovups	%zmm11, (%rax,%rdx)
	vmovups	%zmm10, 64(%rax,%rdx)
	vmovups	%zmm9, 128(%rax,%rdx)
	addq	200(%rsp), %rdx
	vmovups	%zmm8, 4096(%rdx,%rsi,4)
	vmovups	%zmm7, 4160(%rdx,%rsi,4)
	vmovups	%zmm6, 4224(%rdx,%rsi,4)
	vmovups	%zmm5, 8192(%rdx,%rsi,4)
	vmovups	%zmm4, 8256(%rdx,%rsi,4)
	vmovups	%zmm3, 8320(%rdx,%rsi,4)
	vmovups	%zmm2, 12288(%rdx,%rsi,4)
	vmovups	%zmm1, 12352(%rdx,%rsi,4)
	vmovups	%zmm0, 12416(%rdx,%rsi,4)
	jmp	.LBB0_54
.LBB0_49:
	xorl	%eax, %eax
.LBB0_51:
	leaq	(%rbx,%r10), %rdx
	movq	%rax, %r10
	imulq	%r15, %r10
	xorl	%r8d, %r8d
	vxorps	%xmm0, %xmm0, %xmm0
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	cmpq	$48, %r10
	setne	%r8b
	addq	%rax, %r8
	movl	$16, %eax
	cmpq	$16, %r8
	cmovaeq	%rax, %r8
	movq	%rbx, %rax
	shlq	$12, %rdx
	xorl	%r14d, %r14d
	xorl	%r12d, %r12d
	imulq	%r8, %rax
	leaq	(%rcx,%rdx), %r10
	shlq	$12, %rax
	addq	-64(%rsp), %rax
	.p2align	4
.LBB0_52:
	vbroadcastss	(%r10,%r12,4), %zmm3
	movq	%r12, %r13
	imulq	%r8, %r13
	vfmadd231ps	-768(%r9,%r14,4), %zmm3, %zmm2
	vfmadd231ps	-704(%r9,%r14,4), %zmm3, %zmm1
	vfmadd231ps	-640(%r9,%r14,4), %zmm3, %zmm0
	vbroadcastss	4(%r10,%r12,4), %zmm3
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$1, %r13
	imulq	%r8, %r13
	vfmadd231ps	-576(%r9,%r14,4), %zmm3, %zmm2
	vfmadd231ps	-512(%r9,%r14,4), %zmm3, %zmm1
	vfmadd231ps	-448(%r9,%r14,4), %zmm3, %zmm0
	vbroadcastss	8(%r10,%r12,4), %zmm3
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$2, %r13
	imulq	%r8, %r13
	vfmadd231ps	-384(%r9,%r14,4), %zmm3, %zmm2
	vfmadd231ps	-320(%r9,%r14,4), %zmm3, %zmm1
	vfmadd231ps	-256(%r9,%r14,4), %zmm3, %zmm0
	vbroadcastss	12(%r10,%r12,4), %zmm3
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$3, %r13
	imulq	%r8, %r13
	vfmadd231ps	-192(%r9,%r14,4), %zmm3, %zmm2
	vfmadd231ps	-128(%r9,%r14,4), %zmm3, %zmm1
	vfmadd231ps	-64(%r9,%r14,4), %zmm3, %zmm0
	vbroadcastss	16(%r10,%r12,4), %zmm3
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$4, %r13
	imulq	%r8, %r13
	vfmadd231ps	(%r9,%r14,4), %zmm3, %zmm2
	vfmadd231ps	64(%r9,%r14,4), %zmm3, %zmm1
	vfmadd231ps	128(%r9,%r14,4), %zmm3, %zmm0
	vbroadcastss	20(%r10,%r12,4), %zmm3
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$5, %r13
	imulq	%r8, %r13
	vfmadd231ps	192(%r9,%r14,4), %zmm3, %zmm2
	vfmadd231ps	256(%r9,%r14,4), %zmm3, %zmm1
	vfmadd231ps	320(%r9,%r14,4), %zmm3, %zmm0
	vbroadcastss	24(%r10,%r12,4), %zmm3
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$6, %r13
	imulq	%r8, %r13
	vfmadd231ps	384(%r9,%r14,4), %zmm3, %zmm2
	vfmadd231ps	448(%r9,%r14,4), %zmm3, %zmm1
	vfmadd231ps	512(%r9,%r14,4), %zmm3, %zmm0
	vbroadcastss	28(%r10,%r12,4), %zmm3
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$7, %r13
	addq	$8, %r12
	imulq	%r8, %r13
	vfmadd231ps	576(%r9,%r14,4), %zmm3, %zmm2
	vfmadd231ps	640(%r9,%r14,4), %zmm3, %zmm1
	vfmadd231ps	704(%r9,%r14,4), %zmm3, %zmm0
	addq	$384, %r14
	prefetcht1	(%rax,%r13,4)
	cmpq	$49152, %r14
	jne	.LBB0_52
	movq	-80(%rsp), %rax
	incq	%rbx
	vmovups	%zmm2, (%rax,%rdx)
	vmovups	%zmm1, 64(%rax,%rdx)
	vmovups	%zmm0, 128(%rax,%rdx)
	jmp	.LBB0_54
.LBB0_43:
	xorl	%eax, %eax
.LBB0_45:
	leaq	(%rbx,%r10), %rdx
	movq	%rax, %r10
	imulq	%r15, %r10
	xorl	%r8d, %r8d
	movq	-64(%rsp), %r13
	vxorps	%xmm0, %xmm0, %xmm0
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm4, %xmm4, %xmm4
	vxorps	%xmm5, %xmm5, %xmm5
	cmpq	$96, %r10
	movabsq	$4611686018427386880, %r10
	setne	%r8b
	addq	%rax, %r8
	movl	$16, %eax
	cmpq	$16, %r8
	cmovaeq	%rax, %r8
	movq	%rbx, %rax
	shlq	$9, %rax
	shlq	$12, %rdx
	xorl	%r14d, %r14d
	xorl	%r12d, %r12d
	andq	%r10, %rax
	leaq	(%rcx,%rdx), %r10
	imulq	%r8, %rax
	leaq	(%r13,%rax,4), %rax
	.p2align	4
.LBB0_46:
	vbroadcastss	4096(%r10,%r12,4), %zmm10
	vmovups	-384(%rdi,%r14,4), %zmm6
	vmovups	-320(%rdi,%r14,4), %zmm7
	vbroadcastss	(%r10,%r12,4), %zmm9
	vmovups	-256(%rdi,%r14,4), %zmm8
	vbroadcastss	4(%r10,%r12,4), %zmm11
	movq	%r12, %r13
	imulq	%r8, %r13
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$1, %r13
	imulq	%r8, %r13
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$2, %r13
	imulq	%r8, %r13
	vfmadd231ps	%zmm6, %zmm10, %zmm2
	vfmadd231ps	%zmm7, %zmm10, %zmm1
	vfmadd231ps	%zmm8, %zmm10, %zmm0
	vbroadcastss	4100(%r10,%r12,4), %zmm10
	vfmadd231ps	%zmm6, %zmm9, %zmm5
	vmovups	-192(%rdi,%r14,4), %zmm6
	vfmadd231ps	%zmm7, %zmm9, %zmm4
	vmovups	-128(%rdi,%r14,4), %zmm7
	vfmadd231ps	%zmm9, %zmm8, %zmm3
	vmovups	-64(%rdi,%r14,4), %zmm8
	prefetcht1	(%rax,%r13,4)
	movq	%r12, %r13
	orq	$3, %r13
	imulq	%r8, %r13
	prefetcht1	(%rax,%r13,4)
	vfmadd231ps	%zmm6, %zmm11, %zmm5
	vfmadd231ps	%zmm7, %zmm11, %zmm4
	vfmadd231ps	%zmm11, %zmm8, %zmm3
	vbroadcastss	8(%r10,%r12,4), %zmm11
	vfmadd231ps	%zmm6, %zmm10, %zmm2
	vfmadd231ps	%zmm7, %zmm10, %zmm1
	vfmadd231ps	%zmm8, %zmm10, %zmm0
	vbroadcastss	4104(%r10,%r12,4), %zmm10
	vmovups	(%rdi,%r14,4), %zmm6
	vmovups	64(%rdi,%r14,4), %zmm7
	vmovups	128(%rdi,%r14,4), %zmm8
	vfmadd231ps	%zmm6, %zmm11, %zmm5
	vfmadd231ps	%zmm7, %zmm11, %zmm4
	vfmadd231ps	%zmm11, %zmm8, %zmm3
	vbroadcastss	12(%r10,%r12,4), %zmm11
	vfmadd231ps	%zmm6, %zmm10, %zmm2
	vfmadd231ps	%zmm7, %zmm10, %zmm1
	vfmadd231ps	%zmm8, %zmm10, %zmm0
	vbroadcastss	4108(%r10,%r12,4), %zmm10
	vmovups	192(%rdi,%r14,4), %zmm6
	vmovups	256(%rdi,%r14,4), %zmm7
	vmovups	320(%rdi,%r14,4), %zmm8
	addq	$4, %r12
	addq	$192, %r14
	vfmadd231ps	%zmm6, %zmm11, %zmm5
	vfmadd231ps	%zmm7, %zmm11, %zmm4
	vfmadd231ps	%zmm11, %zmm8, %zmm3
	vfmadd231ps	%zmm6, %zmm10, %zmm2
	vfmadd231ps	%zmm7, %zmm10, %zmm1
	vfmadd231ps	%zmm8, %zmm10, %zmm0
	cmpq	$49152, %r14
	jne	.LBB0_46
	movq	-80(%rsp), %rax
	addq	$2, %rbx
	vmovups	%zmm5, (%rax,%rdx)
	vmovups	%zmm4, 64(%rax,%rdx)
	vmovups	%zmm3, 128(%rax,%rdx)
	addq	200(%rsp), %rdx
	vmovups	%zmm2, 4096(%rdx,%rsi,4)
	vmovups	%zmm1, 4160(%rdx,%rsi,4)
	vmovups	%zmm0, 4224(%rdx,%rsi,4)
	jmp	.LBB0_54
	.p2align	4
.LBB0_55:
	testq	%r8, %r8
	jle	.LBB0_88
	leaq	-2(%r15), %rdi
	leaq	-4(%r15), %r9
	leaq	-8(%r15), %rbx
	xorl	%r14d, %r14d
	jmp	.LBB0_57
.LBB0_86:
	movq	-80(%rsp), %rax
	incq	%r14
	vmovups	%zmm0, (%rax,%rdx)
	.p2align	4
.LBB0_87:
	movq	-24(%rsp), %r10
	movq	-32(%rsp), %r8
	cmpq	%r15, %r14
	jge	.LBB0_88
.LBB0_57:
	movq	%r15, %rax
	subq	%r14, %rax
	cmpq	$8, %r8
	jb	.LBB0_65
	cmpq	$5, %rax
	jl	.LBB0_65
	cmpq	%rbx, %r14
	cmovgeq	%rbx, %r14
	cmpq	$384, %r15
	ja	.LBB0_60
	movl	$384, %eax
	xorl	%edx, %edx
	divl	%r15d
	jmp	.LBB0_62
	.p2align	4
.LBB0_65:
	cmpq	$4, %r8
	jb	.LBB0_73
	cmpq	$3, %rax
	jl	.LBB0_73
	cmpq	%r9, %r14
	cmovgeq	%r9, %r14
	cmpq	$192, %r15
	ja	.LBB0_68
	movl	$192, %eax
	xorl	%edx, %edx
	divl	%r15d
	jmp	.LBB0_70
	.p2align	4
.LBB0_73:
	cmpq	$1, %r8
	je	.LBB0_81
	cmpq	$2, %rax
	jl	.LBB0_81
	cmpq	%rdi, %r14
	cmovgeq	%rdi, %r14
	cmpq	$96, %r15
	ja	.LBB0_76
	movl	$96, %eax
	xorl	%edx, %edx
	divl	%r15d
	jmp	.LBB0_78
	.p2align	4
.LBB0_60:
	xorl	%eax, %eax
.LBB0_62:
	leaq	(%r14,%r10), %rdx
	movq	%rax, %r10
	imulq	%r15, %r10
	xorl	%r8d, %r8d
	vxorps	%xmm0, %xmm0, %xmm0
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm4, %xmm4, %xmm4
	vxorps	%xmm5, %xmm5, %xmm5
	vxorps	%xmm6, %xmm6, %xmm6
	vxorps	%xmm7, %xmm7, %xmm7
	cmpq	$384, %r10
	movabsq	$4611686018427386880, %r10
	setne	%r8b
	addq	%rax, %r8
	movl	$16, %eax
	cmpq	$16, %r8
	cmovaeq	%rax, %r8
	movq	%r14, %rax
	shlq	$7, %rax
	shlq	$12, %rdx
	xorl	%r12d, %r12d
	xorl	%ebp, %ebp
	andq	%r10, %rax
	leaq	4325376(%r11), %r10
	imulq	%r8, %rax
	leaq	(%r10,%rax,4), %rax
	leaq	(%rcx,%rdx), %r10
	.p2align	4
.LBB0_63:
	vmovups	4128768(%r11,%r12,4), %zmm8
	movq	%rbp, %r13
	imulq	%r8, %r13
	vfmadd231ps	(%r10,%rbp,4){1to16}, %zmm8, %zmm7
	vfmadd231ps	4096(%r10,%rbp,4){1to16}, %zmm8, %zmm6
	vfmadd231ps	8192(%r10,%rbp,4){1to16}, %zmm8, %zmm5
	vfmadd231ps	12288(%r10,%rbp,4){1to16}, %zmm8, %zmm4
	vfmadd231ps	16384(%r10,%rbp,4){1to16}, %zmm8, %zmm3
	vfmadd231ps	20480(%r10,%rbp,4){1to16}, %zmm8, %zmm2
	vfmadd231ps	24576(%r10,%rbp,4){1to16}, %zmm8, %zmm1
	vfmadd231ps	28672(%r10,%rbp,4){1to16}, %zmm8, %zmm0
	vmovups	4128960(%r11,%r12,4), %zmm8
	addq	$96, %r12
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$1, %r13
	imulq	%r8, %r13
	vfmadd231ps	4(%r10,%rbp,4){1to16}, %zmm8, %zmm7
	vfmadd231ps	4100(%r10,%rbp,4){1to16}, %zmm8, %zmm6
	vfmadd231ps	8196(%r10,%rbp,4){1to16}, %zmm8, %zmm5
	vfmadd231ps	12292(%r10,%rbp,4){1to16}, %zmm8, %zmm4
	vfmadd231ps	16388(%r10,%rbp,4){1to16}, %zmm8, %zmm3
	vfmadd231ps	20484(%r10,%rbp,4){1to16}, %zmm8, %zmm2
	vfmadd231ps	24580(%r10,%rbp,4){1to16}, %zmm8, %zmm1
	vfmadd231ps	28676(%r10,%rbp,4){1to16}, %zmm8, %zmm0
	addq	$2, %rbp
	prefetcht1	(%rax,%r13,4)
	cmpq	$49152, %r12
	jne	.LBB0_63
	addq	200(%rsp), %rdx
	addq	$8, %r14
	vmovups	%zmm7, (%rdx,%rsi,4)
	vmovups	%zmm6, 4096(%rdx,%rsi,4)
	vmovups	%zmm5, 8192(%rdx,%rsi,4)
	vmovups	%zmm4, 12288(%rdx,%rsi,4)
	vmovups	%zmm3, 16384(%rdx,%rsi,4)
	vmovups	%zmm2, 20480(%rdx,%rsi,4)
	vmovups	%zmm1, 24576(%rdx,%rsi,4)
	vmovups	%zmm0, 28672(%rdx,%rsi,4)
	jmp	.LBB0_87
.LBB0_81:
	cmpq	$48, %r15
	ja	.LBB0_82
	movl	$48, %eax
	xorl	%edx, %edx
	divl	%r15d
	jmp	.LBB0_84
.LBB0_68:
	xorl	%eax, %eax
.LBB0_70:
	leaq	(%r14,%r10), %rdx
	movq	%rax, %r10
	imulq	%r15, %r10
	xorl	%r8d, %r8d
	vxorps	%xmm0, %xmm0, %xmm0
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	vxorps	%xmm3, %xmm3, %xmm3
	cmpq	$192, %r10
	movabsq	$4611686018427386880, %r10
	setne	%r8b
	addq	%rax, %r8
	movl	$16, %eax
	cmpq	$16, %r8
	cmovaeq	%rax, %r8
	movq	%r14, %rax
	shlq	$8, %rax
	shlq	$12, %rdx
	xorl	%r12d, %r12d
	xorl	%ebp, %ebp
	andq	%r10, %rax
	leaq	4325376(%r11), %r10
	imulq	%r8, %rax
	leaq	(%r10,%rax,4), %rax
	leaq	(%rcx,%rdx), %r10
	.p2align	4
.LBB0_71:
	vmovups	4128768(%r11,%r12,4), %zmm4
	movq	%rbp, %r13
	imulq	%r8, %r13
	vfmadd231ps	(%r10,%rbp,4){1to16}, %zmm4, %zmm3
	vfmadd231ps	4096(%r10,%rbp,4){1to16}, %zmm4, %zmm2
	vfmadd231ps	8192(%r10,%rbp,4){1to16}, %zmm4, %zmm1
	vfmadd231ps	12288(%r10,%rbp,4){1to16}, %zmm4, %zmm0
	vmovups	4128960(%r11,%r12,4), %zmm4
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$1, %r13
	imulq	%r8, %r13
	vfmadd231ps	4(%r10,%rbp,4){1to16}, %zmm4, %zmm3
	vfmadd231ps	4100(%r10,%rbp,4){1to16}, %zmm4, %zmm2
	vfmadd231ps	8196(%r10,%rbp,4){1to16}, %zmm4, %zmm1
	vfmadd231ps	12292(%r10,%rbp,4){1to16}, %zmm4, %zmm0
	vmovups	4129152(%r11,%r12,4), %zmm4
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$2, %r13
	imulq	%r8, %r13
	vfmadd231ps	8(%r10,%rbp,4){1to16}, %zmm4, %zmm3
	vfmadd231ps	4104(%r10,%rbp,4){1to16}, %zmm4, %zmm2
	vfmadd231ps	8200(%r10,%rbp,4){1to16}, %zmm4, %zmm1
	vfmadd231ps	12296(%r10,%rbp,4){1to16}, %zmm4, %zmm0
	vmovups	4129344(%r11,%r12,4), %zmm4
	addq	$192, %r12
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$3, %r13
	imulq	%r8, %r13
	vfmadd231ps	12(%r10,%rbp,4){1to16}, %zmm4, %zmm3
	vfmadd231ps	4108(%r10,%rbp,4){1to16}, %zmm4, %zmm2
	vfmadd231ps	8204(%r10,%rbp,4){1to16}, %zmm4, %zmm1
	vfmadd231ps	12300(%r10,%rbp,4){1to16}, %zmm4, %zmm0
	addq	$4, %rbp
	prefetcht1	(%rax,%r13,4)
	cmpq	$49152, %r12
	jne	.LBB0_71
	addq	200(%rsp), %rdx
	addq	$4, %r14
	vmovups	%zmm3, (%rdx,%rsi,4)
	vmovups	%zmm2, 4096(%rdx,%rsi,4)
	vmovups	%zmm1, 8192(%rdx,%rsi,4)
	vmovups	%zmm0, 12288(%rdx,%rsi,4)
	jmp	.LBB0_87
.LBB0_82:
	xorl	%eax, %eax
.LBB0_84:
	leaq	(%r14,%r10), %rdx
	movq	%rax, %r10
	imulq	%r15, %r10
	xorl	%r8d, %r8d
	vxorps	%xmm0, %xmm0, %xmm0
	cmpq	$48, %r10
	leaq	4325376(%r11), %r10
	setne	%r8b
	addq	%rax, %r8
	movl	$16, %eax
	cmpq	$16, %r8
	cmovaeq	%rax, %r8
	movq	%r14, %rax
	shlq	$12, %rdx
	xorl	%r12d, %r12d
	xorl	%ebp, %ebp
	imulq	%r8, %rax
	shlq	$12, %rax
	addq	%r10, %rax
	leaq	(%rcx,%rdx), %r10
	.p2align	4
.LBB0_85:
	vbroadcastss	(%r10,%rbp,4), %zmm1
	movq	%rbp, %r13
	imulq	%r8, %r13
	vfmadd132ps	4128768(%r11,%r12,4), %zmm0, %zmm1
	vbroadcastss	4(%r10,%rbp,4), %zmm0
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$1, %r13
	imulq	%r8, %r13
	vfmadd132ps	4128960(%r11,%r12,4), %zmm1, %zmm0
	vbroadcastss	8(%r10,%rbp,4), %zmm1
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$2, %r13
	imulq	%r8, %r13
	vfmadd132ps	4129152(%r11,%r12,4), %zmm0, %zmm1
	vbroadcastss	12(%r10,%rbp,4), %zmm0
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$3, %r13
	imulq	%r8, %r13
	vfmadd132ps	4129344(%r11,%r12,4), %zmm1, %zmm0
	vbroadcastss	16(%r10,%rbp,4), %zmm1
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$4, %r13
	imulq	%r8, %r13
	vfmadd132ps	4129536(%r11,%r12,4), %zmm0, %zmm1
	vbroadcastss	20(%r10,%rbp,4), %zmm0
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$5, %r13
	imulq	%r8, %r13
	vfmadd132ps	4129728(%r11,%r12,4), %zmm1, %zmm0
	vbroadcastss	24(%r10,%rbp,4), %zmm1
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$6, %r13
	imulq	%r8, %r13
	vfmadd132ps	4129920(%r11,%r12,4), %zmm0, %zmm1
	vbroadcastss	28(%r10,%rbp,4), %zmm0
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$7, %r13
	addq	$8, %rbp
	imulq	%r8, %r13
	vfmadd132ps	4130112(%r11,%r12,4), %zmm1, %zmm0
	addq	$384, %r12
	prefetcht1	(%rax,%r13,4)
	cmpq	$49152, %r12
	jne	.LBB0_85
	jmp	.LBB0_86
.LBB0_76:
	xorl	%eax, %eax
.LBB0_78:
	leaq	(%r14,%r10), %rdx
	movq	%rax, %r10
	imulq	%r15, %r10
	xorl	%r8d, %r8d
	vxorps	%xmm0, %xmm0, %xmm0
	vxorps	%xmm1, %xmm1, %xmm1
	cmpq	$96, %r10
	movabsq	$4611686018427386880, %r10
	setne	%r8b
	addq	%rax, %r8
	movl	$16, %eax
	cmpq	$16, %r8
	cmovaeq	%rax, %r8
	movq	%r14, %rax
	shlq	$9, %rax
	shlq	$12, %rdx
	xorl	%r12d, %r12d
	xorl	%ebp, %ebp
	andq	%r10, %rax
	leaq	4325376(%r11), %r10
	imulq	%r8, %rax
	leaq	(%r10,%rax,4), %rax
	leaq	(%rcx,%rdx), %r10
	.p2align	4
.LBB0_79:
	vmovups	4128768(%r11,%r12,4), %zmm2
	movq	%rbp, %r13
	imulq	%r8, %r13
	vfmadd231ps	(%r10,%rbp,4){1to16}, %zmm2, %zmm1
	vfmadd231ps	4096(%r10,%rbp,4){1to16}, %zmm2, %zmm0
	vmovups	4128960(%r11,%r12,4), %zmm2
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$1, %r13
	imulq	%r8, %r13
	vfmadd231ps	4(%r10,%rbp,4){1to16}, %zmm2, %zmm1
	vfmadd231ps	4100(%r10,%rbp,4){1to16}, %zmm2, %zmm0
	vmovups	4129152(%r11,%r12,4), %zmm2
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$2, %r13
	imulq	%r8, %r13
	vfmadd231ps	8(%r10,%rbp,4){1to16}, %zmm2, %zmm1
	vfmadd231ps	4104(%r10,%rbp,4){1to16}, %zmm2, %zmm0
	vmovups	4129344(%r11,%r12,4), %zmm2
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$3, %r13
	imulq	%r8, %r13
	vfmadd231ps	12(%r10,%rbp,4){1to16}, %zmm2, %zmm1
	vfmadd231ps	4108(%r10,%rbp,4){1to16}, %zmm2, %zmm0
	vmovups	4129536(%r11,%r12,4), %zmm2
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$4, %r13
	imulq	%r8, %r13
	vfmadd231ps	16(%r10,%rbp,4){1to16}, %zmm2, %zmm1
	vfmadd231ps	4112(%r10,%rbp,4){1to16}, %zmm2, %zmm0
	vmovups	4129728(%r11,%r12,4), %zmm2
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$5, %r13
	imulq	%r8, %r13
	vfmadd231ps	20(%r10,%rbp,4){1to16}, %zmm2, %zmm1
	vfmadd231ps	4116(%r10,%rbp,4){1to16}, %zmm2, %zmm0
	vmovups	4129920(%r11,%r12,4), %zmm2
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$6, %r13
	imulq	%r8, %r13
	vfmadd231ps	24(%r10,%rbp,4){1to16}, %zmm2, %zmm1
	vfmadd231ps	4120(%r10,%rbp,4){1to16}, %zmm2, %zmm0
	vmovups	4130112(%r11,%r12,4), %zmm2
	addq	$384, %r12
	prefetcht1	(%rax,%r13,4)
	movq	%rbp, %r13
	orq	$7, %r13
	imulq	%r8, %r13
	vfmadd231ps	28(%r10,%rbp,4){1to16}, %zmm2, %zmm1
	vfmadd231ps	4124(%r10,%rbp,4){1to16}, %zmm2, %zmm0
	addq	$8, %rbp
	prefetcht1	(%rax,%r13,4)
	cmpq	$49152, %r12
	jne	.LBB0_79
	addq	200(%rsp), %rdx
	addq	$2, %r14
	vmovups	%zmm1, (%rdx,%rsi,4)
	vmovups	%zmm0, 4096(%rdx,%rsi,4)
	jmp	.LBB0_87
.LBB0_89:
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end0:
	.size	k, .Lfunc_end0-k

	.globl	_mlir_ciface_k
	.p2align	4
	.type	_mlir_ciface_k,@function
_mlir_ciface_k:
	subq	$200, %rsp
	movq	8(%rdx), %rax
	movq	8(%rcx), %rcx
	movq	8(%r9), %rdx
	movq	24(%r9), %r8
	movq	%rcx, 32(%rsp)
	movq	%rax, %rcx
	movq	%r8, 160(%rsp)
	movq	%rdx, 144(%rsp)
	callq	k@PLT
	addq	$200, %rsp
	retq
.Lfunc_end1:
	.size	_mlir_ciface_k, .Lfunc_end1-_mlir_ciface_k

	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits

/* Executes the file of its first argument with two more arguments and an environment of two
 * variables.  Path, arguments, arrays and environment are each in pages that nothing has touched
 * when the call begins; the kernel maps at most 16 pages around one that is touched. */
	.section .note.GNU-stack, "", @progbits

	.text
	.globl _start
_start:
	lea path(%rip), %rdi
	lea arguments(%rip), %rsi
	lea environment(%rip), %rdx
	mov $59, %eax
	syscall
	mov $60, %eax
	mov $9, %edi
	syscall

	.section .rodata
	.skip 0x40000
path:
	.asciz PATH
	.skip 0x40000
first:
	.asciz "true"
second:
	.asciz "an argument"
variable:
	.asciz "A=1"

	.data
	.skip 0x40000
arguments:
	.quad first, second, 0
	.skip 0x40000
environment:
	.quad variable, variable, 0

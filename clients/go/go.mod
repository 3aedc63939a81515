module whitlog

go 1.21

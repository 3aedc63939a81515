module conformance

go 1.21

require whitlog v0.0.0

replace whitlog => ../../go

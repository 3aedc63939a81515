module whitlog/zapcore

go 1.21

require (
	go.uber.org/zap v1.27.0
	whitlog v0.0.0
)

require go.uber.org/multierr v1.10.0 // indirect

replace whitlog => ../

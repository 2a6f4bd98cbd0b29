package luascript

import "github.com/redis/go-redis/v9"

// SetPipelineError gives the commands of a pipeline that was not sent the error of the pipeline. The client leaves them
// without an error or an answer if the server replies with an error to a new connection, as it does to a wrong
// password, or if a hook refuses the pipeline. If a command has an error, the pipeline was sent, or they all have it.
func SetPipelineError(cmds []redis.Cmder, err error) {
	if err == nil {
		return
	}
	for _, cmd := range cmds {
		if cmd.Err() != nil {
			return
		}
	}
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
}

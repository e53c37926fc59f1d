import { StopSwitchError } from "#config/switch/error.ts";
import { type ChangeParameters, parameterOf, wordsOf } from "#config/switch/ssm.ts";

/** The calls of SSM that change parameters; they reject with the platform's own error, whose `name` is its code. */
export interface ParameterWriter {
  put(name: string, value: string, replaces: boolean): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Changes the switch that is parameters of SSM; the writer is made on first use. */
export function changeParameters(writer: () => Promise<ParameterWriter>): ChangeParameters {
  let opened: Promise<ParameterWriter> | undefined;
  return (home, path) => async (change) => {
    const name = path + parameterOf(change.kind === "stop" ? change.entry : change.name);
    opened ??= writer();
    const parameters = await opened;
    try {
      if (change.kind === "resume") await parameters.remove(name);
      else {
        const { since, by } = change.entry;
        await parameters.put(name, JSON.stringify({ version: 1, since, by }), change.anew === true);
      }
    } catch (error) {
      // It says so already.
      const code = error instanceof Error ? error.name : "";
      if (code === (change.kind === "stop" ? "ParameterAlreadyExists" : "ParameterNotFound")) return;
      const action = change.kind === "stop" ? "ssm:PutParameter" : "ssm:DeleteParameter";
      throw new StopSwitchError("NotWritten", home, `was not changed: ${wordsOf(home, action, error)}`, {
        cause: error,
      });
    }
  };
}

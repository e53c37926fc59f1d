import { type ChangeParameters, describeSsmError, formatParameterName } from "#config/switch/ssm.ts";
import { StopSwitchError } from "#config/switch/stops.ts";

/**
 * The SSM calls that change parameters; they reject with the platform's own error, whose `name` is its code.
 */
export interface ParameterWriter {
  put(name: string, value: string, replaces: boolean): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Returns the function that changes an SSM stop switch; it creates the writer on first use. */
export function changeParameters(writer: () => Promise<ParameterWriter>): ChangeParameters {
  let opened: Promise<ParameterWriter> | undefined;
  return (registry, path) => async (change) => {
    const name = path + formatParameterName(change.kind === "stop" ? change.entry : change.name);
    opened ??= writer();
    const parameters = await opened;
    try {
      if (change.kind === "resume") await parameters.remove(name);
      else {
        const { since, by } = change.entry;
        await parameters.put(name, JSON.stringify({ version: 1, since, by }), change.anew === true);
      }
    } catch (error) {
      // The switch is already in this state.
      const code = error instanceof Error ? error.name : "";
      if (code === (change.kind === "stop" ? "ParameterAlreadyExists" : "ParameterNotFound")) return;
      const action = change.kind === "stop" ? "ssm:PutParameter" : "ssm:DeleteParameter";
      throw new StopSwitchError(
        "NotWritten",
        registry,
        `was not changed: ${describeSsmError(registry, action, error)}`,
        {
          cause: error,
        },
      );
    }
  };
}

import { ConfigurationError } from "#cli/configuration-error.ts";
import { type Parameter, toParametersError } from "#config/registry/ssm/parameter-store.ts";
import type { ParameterWriter } from "#config/switch/change-parameters.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** An entry in an SSM parameter. */
export interface ParameterEntry {
  readonly name: string;
  /** Its name in messages. */
  readonly document: string;
  readonly parameter: Parameter;
}

const TIMEOUT_MS = 30_000;

/** Reads the parameter of a cluster's entry below a path that ends with `/`; undefined if not found. */
export async function readParameterEntry(path: string, cluster: string): Promise<ParameterEntry | undefined> {
  const { createParameterStore } = await import("#platforms/aws/parameter-store.ts");
  const name = `${path}${cluster}`;
  try {
    const parameter = await createParameterStore().get(name, AbortSignal.timeout(TIMEOUT_MS));
    return parameter && { name, document: `ssm:${name}`, parameter };
  } catch (error) {
    throw toParametersError(`ssm:${path}`, "ssm:GetParameter", error);
  }
}

/** Creates the parameter of a new entry. */
export function createParameterEntry(path: string, cluster: string, text: string): Promise<void> {
  return write(`${path}${cluster}`, "written", (writer, name) => writer.put(name, text, false));
}

/**
 * Replaces the text that was read. SSM has no conditional write, so the parameter is read again right before.
 */
export async function replaceParameterEntry(
  path: string,
  cluster: string,
  { before, after }: { readonly before: string; readonly after: string },
): Promise<void> {
  await checkUnchanged(path, cluster, before);
  await write(`${path}${cluster}`, "written", (writer, name) => writer.put(name, after, true));
}

/** Deletes an entry that has not changed since it was read. */
export async function removeParameterEntry(path: string, cluster: string, before: string): Promise<void> {
  await checkUnchanged(path, cluster, before);
  await write(`${path}${cluster}`, "deleted", (writer, name) => writer.remove(name));
}

async function checkUnchanged(path: string, cluster: string, before: string): Promise<void> {
  const now = await readParameterEntry(path, cluster);
  if (now?.parameter.value === before) return;
  throw new Error(`ssm:${path}${cluster} has changed since it was read; nothing was written, so start again`);
}

async function write(
  name: string,
  done: string,
  act: (writer: ParameterWriter, name: string) => Promise<void>,
): Promise<void> {
  const { createParameterWriter } = await import("#platforms/aws/write-parameters.ts");
  try {
    await act(createParameterWriter(), name);
  } catch (error) {
    const isThere = error instanceof Error && error.name === "ParameterAlreadyExists";
    const message = isThere
      ? "is there already; nothing was written"
      : `cannot be ${done}: ${getErrorMessage(error)}`;
    throw new ConfigurationError([{ name: `ssm:${name}`, message }]);
  }
}

import { ConfigurationError } from "#cli/configuration-error.ts";
import type { Parameter } from "#config/home/ssm/parameter-store.ts";
import { parametersError } from "#config/home/ssm/parameters-error.ts";
import type { ParameterWriter } from "#config/switch/change-parameters.ts";
import { messageOf } from "#core/message-of.ts";

/** One entry as a parameter of SSM. */
export interface ParameterEntry {
  readonly name: string;
  /** As messages name it. */
  readonly document: string;
  readonly parameter: Parameter;
}

const TIMEOUT_MS = 30_000;

/** Reads the parameter of a cluster's entry below a path that ends with `/`; undefined where there is none. */
export async function readParameterEntry(path: string, cluster: string): Promise<ParameterEntry | undefined> {
  const { createParameterStore } = await import("#clouds/aws/parameter-store.ts");
  const name = `${path}${cluster}`;
  try {
    const parameter = await createParameterStore().get(name, AbortSignal.timeout(TIMEOUT_MS));
    return parameter && { name, document: `ssm:${name}`, parameter };
  } catch (error) {
    throw parametersError(`ssm:${path}`, "ssm:GetParameter", error);
  }
}

/** Writes an entry that is not there yet. */
export function createParameterEntry(path: string, cluster: string, text: string): Promise<void> {
  return write(`${path}${cluster}`, "written", (writer, name) => writer.put(name, text, false));
}

/** Writes another text in place of the one that was read; SSM has no conditional write, so that it is read again right before. */
export async function replaceParameterEntry(
  path: string,
  cluster: string,
  { before, after }: { readonly before: string; readonly after: string },
): Promise<void> {
  await checkUnchanged(path, cluster, before);
  await write(`${path}${cluster}`, "written", (writer, name) => writer.put(name, after, true));
}

/** Deletes an entry that is still as it was read. */
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
  const { createParameterWriter } = await import("#clouds/aws/write-parameters.ts");
  try {
    await act(createParameterWriter(), name);
  } catch (error) {
    const isThere = error instanceof Error && error.name === "ParameterAlreadyExists";
    const message = isThere
      ? "is there already; nothing was written"
      : `cannot be ${done}: ${messageOf(error)}`;
    throw new ConfigurationError([{ name: `ssm:${name}`, message }]);
  }
}

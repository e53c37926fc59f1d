import * as z from "zod";
import {
  listParameters,
  type Parameter,
  type ParameterStore,
  toParametersError,
} from "#config/registry/ssm/parameter-store.ts";
import {
  assumeStop,
  StopEntry,
  type StopName,
  type StopSwitch,
  StopSwitchError,
} from "#config/switch/stops.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { StopKind } from "#core/stop.ts";

/** Changes parameters under a path. It is a separate module, so that read-only processes do not load it. */
export type ChangeParameters = (registry: string, path: string) => StopSwitch["change"];

/** The dependencies of the switch; each is created on first use. */
export interface SsmSwitchOptions {
  readonly store?: () => Promise<Pick<ParameterStore, "list" | "getMany">>;
  /** Without it, the switch is read-only: functions need no more and have no right to write. */
  readonly change?: ChangeParameters | undefined;
}

/**
 * Creates a stop switch from SSM parameters: one for each stop, `deletes` or `writes.CLUSTER`, directly under
 * a path that ends with `/`. SSM has no conditional writes, so two operators write two parameters. A
 * parameter stops by its existence, whatever its value.
 */
export function createSsmSwitch(path: string, options: SsmSwitchOptions = {}): StopSwitch {
  const registry = `ssm:${path}`;
  const store = createLazyValue(options.store ?? openStore);

  const entriesOf = (parameters: readonly Parameter[]): readonly StopEntry[] =>
    readParameters(
      path,
      parameters.map(({ name, value }) => ({ name: name.slice(path.length), value })),
    );

  /** Carries out an SSM action; rejects with `StopSwitchError`. */
  async function ask<Answer>(
    action: string,
    request: (opened: Pick<ParameterStore, "list" | "getMany">) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await request(await store());
    } catch (error) {
      const message = `cannot be read: ${describeSsmError(registry, action, error)}`;
      const isDenied = error instanceof Error && error.name === "AccessDeniedException";
      throw new StopSwitchError("Unreadable", registry, message, { cause: error, isDenied });
    }
  }

  const readNamed = (cluster: string, signal: AbortSignal): Promise<readonly Parameter[]> => {
    const names = StopKind.options.flatMap((what) => [{ what }, { what, cluster }]);
    const wanted = names.map((name) => path + formatParameterName(name));
    return ask("ssm:GetParameters", (opened) => opened.getMany(wanted, signal));
  };

  return {
    name: registry,
    read: async (signal) =>
      entriesOf(await ask("ssm:GetParametersByPath", (opened) => listParameters(opened, path, signal))),
    async readFor(cluster, signal) {
      const page = await ask("ssm:GetParametersByPath", (opened) =>
        opened.list(path, undefined, signal),
      ).catch((error: unknown) => {
        // The role of an earlier deployment may allow functions to read parameters by name only.
        if (error instanceof StopSwitchError && error.isDenied) return undefined;
        throw error;
      });
      if (page !== undefined && page.next === undefined)
        return { stopped: entriesOf(page.parameters), isAll: true };
      const found = [...(page?.parameters ?? []), ...(await readNamed(cluster, signal))];
      return { stopped: selectReadableStops(() => entriesOf(found)), isAll: false };
    },
    change: options.change?.(registry, path) ?? (() => Promise.reject(readAlone(registry))),
  };
}

/** Only readers of the whole switch, such as the relay, report parameters that name no stop. */
function selectReadableStops(read: () => readonly StopEntry[]): readonly StopEntry[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof StopSwitchError && error.stopped !== undefined) return error.stopped;
    throw error;
  }
}

function readAlone(registry: string): StopSwitchError {
  return new StopSwitchError("NotWritten", registry, "can only be read here");
}

/** Returns the parameter name of a stop; every character of a cluster name is valid in a parameter name. */
export function formatParameterName({ what, cluster }: StopName): string {
  return cluster === undefined ? what : `${what}.${cluster}`;
}

/** A parameter with the last segment of its name. */
type NamedValue = Pick<Parameter, "name" | "value">;

/**
 * Parses the stops in parameters. If one names no stop, throws an error with the other stops and the most
 * that this one may mean.
 */
function readParameters(path: string, parameters: readonly NamedValue[]): readonly StopEntry[] {
  const stopped: StopEntry[] = [];
  const strays: { readonly name: string; readonly assumed: StopName }[] = [];
  for (const { name, value } of parameters) {
    const [what, ...rest] = name.split(".");
    const cluster = rest.length === 0 ? {} : { cluster: rest.join(".") };
    const facts = StopEntry.pick({ since: true, by: true }).catch({}).parse(parseStopFacts(value));
    const parsed = StopEntry.safeParse({ what, ...cluster, ...facts });
    if (parsed.success) stopped.push(parsed.data);
    else strays.push({ name, assumed: assumeStop({ what, ...cluster }) });
  }
  const [first] = strays;
  if (first === undefined) return stopped;
  const all = [...stopped, ...strays.map(({ assumed }) => assumed)];
  throw new StopSwitchError("Malformed", `ssm:${path}`, describeStrayParameters(path, first.name, strays), {
    stopped: all,
  });
}

function describeStrayParameters(
  path: string,
  first: string,
  strays: readonly { readonly name: string; readonly assumed: StopName }[],
): string {
  const named = strays.slice(0, MAX_NAMED).map(({ name, assumed: { what, cluster } }) => {
    const held = cluster === undefined ? "all clusters" : `cluster ${cluster}`;
    return `${sanitizeText(name, 80)} (${what} of ${held} are held back)`;
  });
  const more = strays.length > MAX_NAMED ? ` and ${strays.length - MAX_NAMED} more` : "";
  return `has parameters that name no stop: ${named.join(", ")}${more}; remove them with "aws ssm delete-parameter --name ${path}${sanitizeText(first, 80)}", or rename them to writes, deletes, writes.CLUSTER or deletes.CLUSTER`;
}

const MAX_NAMED = 5;

function parseStopFacts(value: string): { readonly since?: unknown; readonly by?: unknown } {
  try {
    const { since, by } = z.looseObject({}).parse(JSON.parse(value));
    return { since, by };
  } catch {
    return {};
  }
}

/** Describes SSM's error for an action, and what to do. */
export function describeSsmError(registry: string, action: string, error: unknown): string {
  return toParametersError(registry, action, error)
    .faults.map(({ message }) => message)
    .join("; ");
}

function createLazyValue<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

async function openStore(): Promise<ParameterStore> {
  return (await import("#platforms/aws/parameter-store.ts")).createParameterStore();
}

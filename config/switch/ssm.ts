import * as z from "zod";
import { listParameters } from "#config/home/ssm/list-parameters.ts";
import type { Parameter, ParameterStore } from "#config/home/ssm/parameter-store.ts";
import { parametersError } from "#config/home/ssm/parameters-error.ts";
import { StopSwitchError } from "#config/switch/error.ts";
import { assumeStop, StopEntry, type StopName } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import { shown } from "#core/shown-text.ts";
import { StopKind } from "#core/stop.ts";

/** How parameters under a path are changed; apart, as who only reads carries none of it. */
export type ChangeParameters = (home: string, path: string) => StopSwitch["change"];

/** What the switch touches; each is made on first use. */
export interface SsmSwitchOptions {
  readonly store?: () => Promise<Pick<ParameterStore, "list" | "getMany">>;
  /** Without it the switch can be read alone: functions have no need of more, and no right to. */
  readonly change?: ChangeParameters | undefined;
}

/**
 * Parameters of SSM as the switch: one for each thing that is stopped, `deletes` or `writes.CLUSTER`, right under a path that ends with
 * `/`. SSM knows no conditional writes, and so two operators write two parameters. That there is one is what counts: whatever its value,
 * it stops.
 */
export function ssmSwitch(path: string, options: SsmSwitchOptions = {}): StopSwitch {
  const home = `ssm:${path}`;
  const store = once(options.store ?? openStore);

  const entriesOf = (parameters: readonly Parameter[]): readonly StopEntry[] =>
    readParameters(
      path,
      parameters.map(({ name, value }) => ({ name: name.slice(path.length), value })),
    );

  /** Carries an action out; what it rejects with is a `StopSwitchError`. */
  async function ask<Answer>(
    action: string,
    request: (opened: Pick<ParameterStore, "list" | "getMany">) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await request(await store());
    } catch (error) {
      const message = `cannot be read: ${wordsOf(home, action, error)}`;
      const isDenied = error instanceof Error && error.name === "AccessDeniedException";
      throw new StopSwitchError("Unreadable", home, message, { cause: error, isDenied });
    }
  }

  const readNamed = (cluster: string, signal: AbortSignal): Promise<readonly Parameter[]> => {
    const names = StopKind.options.flatMap((what) => [{ what }, { what, cluster }]);
    const wanted = names.map((name) => path + parameterOf(name));
    return ask("ssm:GetParameters", (opened) => opened.getMany(wanted, signal));
  };

  return {
    name: home,
    read: async (signal) =>
      entriesOf(await ask("ssm:GetParametersByPath", (opened) => listParameters(opened, path, signal))),
    async readFor(cluster, signal) {
      const page = await ask("ssm:GetParametersByPath", (opened) =>
        opened.list(path, undefined, signal),
      ).catch((error: unknown) => {
        // Functions of an earlier deployment may read parameters by their names alone.
        if (error instanceof StopSwitchError && error.isDenied) return undefined;
        throw error;
      });
      if (page !== undefined && page.next === undefined)
        return { stopped: entriesOf(page.parameters), isAll: true };
      const found = [...(page?.parameters ?? []), ...(await readNamed(cluster, signal))];
      return { stopped: readable(() => entriesOf(found)), isAll: false };
    },
    change: options.change?.(home, path) ?? (() => Promise.reject(readAlone(home))),
  };
}

/** Whoever reads all of it, as the relay does, tells of what names no stop. */
function readable(read: () => readonly StopEntry[]): readonly StopEntry[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof StopSwitchError && error.stopped !== undefined) return error.stopped;
    throw error;
  }
}

function readAlone(home: string): StopSwitchError {
  return new StopSwitchError("NotWritten", home, "can only be read here");
}

/** The parameter of one thing that is stopped; names of clusters have no character that those of parameters lack. */
export function parameterOf({ what, cluster }: StopName): string {
  return cluster === undefined ? what : `${what}.${cluster}`;
}

/** A parameter by the end of its name. */
type NamedValue = Pick<Parameter, "name" | "value">;

/** What parameters stop. Where one names no stop, rejects with what the others stop and the most that this one may mean. */
function readParameters(path: string, parameters: readonly NamedValue[]): readonly StopEntry[] {
  const stopped: StopEntry[] = [];
  const strays: { readonly name: string; readonly assumed: StopName }[] = [];
  for (const { name, value } of parameters) {
    const [what, ...rest] = name.split(".");
    const cluster = rest.length === 0 ? {} : { cluster: rest.join(".") };
    const facts = StopEntry.pick({ since: true, by: true }).catch({}).parse(factsOf(value));
    const parsed = StopEntry.safeParse({ what, ...cluster, ...facts });
    if (parsed.success) stopped.push(parsed.data);
    else strays.push({ name, assumed: assumeStop({ what, ...cluster }) });
  }
  const [first] = strays;
  if (first === undefined) return stopped;
  const all = [...stopped, ...strays.map(({ assumed }) => assumed)];
  throw new StopSwitchError("Malformed", `ssm:${path}`, strayMessage(path, first.name, strays), {
    stopped: all,
  });
}

function strayMessage(
  path: string,
  first: string,
  strays: readonly { readonly name: string; readonly assumed: StopName }[],
): string {
  const named = strays.slice(0, MAX_NAMED).map(({ name, assumed: { what, cluster } }) => {
    const held = cluster === undefined ? "all clusters" : `cluster ${cluster}`;
    return `${shown(name, 80)} (${what} of ${held} are held back)`;
  });
  const more = strays.length > MAX_NAMED ? ` and ${strays.length - MAX_NAMED} more` : "";
  return `has parameters that name no stop: ${named.join(", ")}${more}; remove them with "aws ssm delete-parameter --name ${path}${shown(first, 80)}", or rename them to writes, deletes, writes.CLUSTER or deletes.CLUSTER`;
}

const MAX_NAMED = 5;

function factsOf(value: string): { readonly since?: unknown; readonly by?: unknown } {
  try {
    const { since, by } = z.looseObject({}).parse(JSON.parse(value));
    return { since, by };
  } catch {
    return {};
  }
}

/** What SSM said to an action, and what to do. */
export function wordsOf(home: string, action: string, error: unknown): string {
  return parametersError(home, action, error)
    .faults.map(({ message }) => message)
    .join("; ");
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

async function openStore(): Promise<ParameterStore> {
  return (await import("#clouds/aws/parameter-store.ts")).createParameterStore();
}

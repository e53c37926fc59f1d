import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { checkParameters, splitList } from "./check-parameters.ts";
import { expandPlaceholders } from "./expand-placeholders.ts";
import {
  type DeployedFunction,
  leaveOut,
  selectDefaultFunctions,
  selectOptionalFunctions,
} from "./select-functions.ts";

/** The parts of osls that this plugin uses. */
interface Serverless {
  readonly serviceDir: string;
  readonly configurationFilename: string;
  readonly classes: { readonly Error: new (message: string, code: string) => Error };
  readonly service: {
    functions: Record<string, DeployedFunction>;
    resources: unknown;
    readonly provider: { readonly region: string };
  };
  /** serverless.yml. The variables of parameters and of the stage are not resolved yet in a plugin's constructor. */
  readonly configurationInput: Readonly<Record<string, unknown>> & {
    readonly functions: Readonly<Record<string, DeployedFunction>>;
  };
  /** Replaces a part of `configurationInput`; only a plugin's constructor may call it. */
  extendConfiguration(path: readonly string[], value: unknown): void;
}

/** The options of the command line. */
interface Options {
  readonly param?: readonly string[];
}

/**
 * The plugin of serverless.yml: fills the lists that have a line for each function, rejects invalid parameters,
 * and leaves out the functions of disabled controllers.
 */
export default class DeploymentPlugin {
  readonly hooks: Readonly<Record<string, () => void>>;

  constructor(serverless: Serverless, { param = [] }: Options) {
    // Before osls validates the file: a key with a placeholder is no name of a resource.
    fillLists(serverless);
    this.hooks = { initialize: () => apply(serverless, readParameters(param)) };
  }
}

function fillLists(serverless: Serverless): void {
  const { custom, functions, resources } = serverless.configurationInput;
  const controllers = DESCRIPTORS.map(({ functionName }) => functionName);
  try {
    for (const { path, value } of expandPlaceholders(functions, controllers, { custom, resources }))
      serverless.extendConfiguration(path, value);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new serverless.classes.Error(`serverless.yml: ${message}`, "PLACEHOLDERS_DO_NOT_FIT");
  }
}

function apply({ serviceDir, configurationFilename, classes, service }: Serverless, given: Parameters): void {
  const choosable = selectOptionalFunctions(Object.keys(service.functions));
  const text = readFileSync(join(serviceDir, configurationFilename), "utf8");
  const names = [...text.matchAll(/\$\{param:(\w+)/g)].flatMap(([, name = ""]) => name);
  const faults = checkParameters({
    given,
    known: [...new Set([...names, "controllers", "sessionRoles"])].toSorted(),
    region: service.provider.region,
    choosable,
  });
  if (faults.length > 0)
    throw new classes.Error(
      ["Invalid deployment parameters:", ...faults].join("\n  "),
      "PARAMETERS_DO_NOT_FIT",
    );
  const named = splitList(given["controllers"] ?? "all");
  const controllers = named.includes("all") ? selectDefaultFunctions(Object.keys(service.functions)) : named;
  const { functions, resources } = leaveOut(
    { controllers, sessionRoles: hasSessionRoles(given) },
    service.functions,
    service.resources,
  );
  service.functions = functions;
  service.resources = resources;
}

/**
 * A function in subnets may have no route to STS, which clusters without a role did not need before: the
 * operator must confirm the route there.
 */
function hasSessionRoles({ sessionRoles, vpcSubnetIds }: Parameters): boolean {
  return sessionRoles === undefined ? vpcSubnetIds === undefined : sessionRoles === "true";
}

type Parameters = Readonly<Record<string, string>>;

/** Parses `--param NAME=VALUE` of the command line; the last value of a name counts. */
function readParameters(given: readonly string[]): Parameters {
  return Object.fromEntries(
    given.map((text) => {
      const [, name = text, value = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
      return [name, value];
    }),
  );
}

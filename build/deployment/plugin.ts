import { readFileSync } from "node:fs";
import { join } from "node:path";
import { faultsOfParameters, splitList } from "./check-parameters.ts";
import { choosableOf, type DeployedFunction, defaultOf, leaveOut } from "./leave-out.ts";

/** What this plugin uses of osls. */
interface Serverless {
  readonly serviceDir: string;
  readonly configurationFilename: string;
  readonly classes: { readonly Error: new (message: string, code: string) => Error };
  readonly service: {
    functions: Record<string, DeployedFunction>;
    resources: unknown;
    readonly provider: { readonly region: string };
  };
}

/** What the command line says. */
interface Options {
  readonly param?: readonly string[];
}

/** The plugin of serverless.yml: refuses parameters that do not fit, and leaves out the functions of controllers that are off. */
export default class DeploymentPlugin {
  readonly hooks: Readonly<Record<string, () => void>>;

  constructor(serverless: Serverless, { param = [] }: Options) {
    this.hooks = { initialize: () => apply(serverless, readParameters(param)) };
  }
}

function apply({ serviceDir, configurationFilename, classes, service }: Serverless, given: Parameters): void {
  const choosable = choosableOf(Object.keys(service.functions));
  const text = readFileSync(join(serviceDir, configurationFilename), "utf8");
  const names = [...text.matchAll(/\$\{param:(\w+)/g)].flatMap(([, name = ""]) => name);
  const faults = faultsOfParameters({
    given,
    known: [...new Set([...names, "controllers", "sessionRoles"])].toSorted(),
    region: service.provider.region,
    choosable,
  });
  if (faults.length > 0)
    throw new classes.Error(
      ["The parameters of the deployment do not fit:", ...faults].join("\n  "),
      "PARAMETERS_DO_NOT_FIT",
    );
  const named = splitList(given["controllers"] ?? "all");
  const controllers = named.includes("all") ? defaultOf(Object.keys(service.functions)) : named;
  const { functions, resources } = leaveOut(
    { controllers, sessionRoles: hasSessionRoles(given) },
    service.functions,
    service.resources,
  );
  service.functions = functions;
  service.resources = resources;
}

/** In subnets a function may have no way to STS, of which clusters without a role had no need before: there somebody says that it has. */
function hasSessionRoles({ sessionRoles, vpcSubnetIds }: Parameters): boolean {
  return sessionRoles === undefined ? vpcSubnetIds === undefined : sessionRoles === "true";
}

type Parameters = Readonly<Record<string, string>>;

/** `--param NAME=VALUE` of the command line, the last of a name. */
function readParameters(given: readonly string[]): Parameters {
  return Object.fromEntries(
    given.map((text) => {
      const [, name = text, value = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
      return [name, value];
    }),
  );
}

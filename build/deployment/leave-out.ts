/** A function of serverless.yml, as far as it matters here. */
export interface DeployedFunction {
  readonly name: string;
  readonly role: string;
  readonly environment?: Readonly<Record<string, unknown>>;
}

/** What is left of a template of the deployment. */
export interface Chosen<Definition extends DeployedFunction = DeployedFunction> {
  readonly functions: Readonly<Record<string, Definition>>;
  readonly resources: unknown;
}

/** Functions that have nothing to do without another. */
const FOLLOWS: Readonly<Record<string, string>> = { "ec2-events": "node-lifecycle" };

/** Those that are no controller's, and are there whatever controllers are. */
const NO_CONTROLLERS = ["sweep", ...Object.keys(FOLLOWS)];

/** Those that are there only where somebody names them: what has a URL is asked by whoever finds it. */
const WHERE_NAMED: ReadonlySet<string> = new Set(["admission"]);

/** What a relay may; attached to nobody by the deployment itself. */
const RELAY_POLICY = "RelayPolicy";

function isInvokedByRelays(name: string): boolean {
  return !NO_CONTROLLERS.includes(name) && !WHERE_NAMED.has(name);
}

/** The functions of a deployment that says nothing of controllers. */
export function defaultOf(functions: readonly string[]): string[] {
  return choosableOf(functions).filter((name) => !WHERE_NAMED.has(name));
}

/** The functions that a deployment can be without. */
export function choosableOf(functions: readonly string[]): string[] {
  return functions.filter((name) => !NO_CONTROLLERS.includes(name));
}

/**
 * Leaves out every function whose controller is not among the chosen: itself, its roles, what extends its resource, outputs of these, and
 * each place at which another resource names one of these, by `Ref` or at the end of an ARN. Without `sessionRoles` so are the roles for
 * clusters that name none. `AWS::NoValue` is left out of lists, as CloudFormation does it within its conditions.
 */
export function leaveOut<Definition extends DeployedFunction>(
  { controllers, sessionRoles }: { readonly controllers: readonly string[]; readonly sessionRoles: boolean },
  functions: Readonly<Record<string, Definition>>,
  resources: unknown,
): Chosen<Definition> {
  const isKept = (name: string): boolean => controllers.includes(FOLLOWS[name] ?? name) || name === "sweep";
  const left = Object.keys(functions).filter((name) => !isKept(name));
  const gone = left.flatMap((name) => functions[name] ?? []);
  const withoutSession = sessionRoles ? gone : Object.values(functions);
  const roles = new Set([...gone.map(({ role }) => role), ...withoutSession.flatMap(sessionOf)]);
  // A relay without a function of a controller has nothing to invoke.
  const relay = Object.keys(functions).some((name) => isKept(name) && isInvokedByRelays(name))
    ? []
    : [RELAY_POLICY];
  const keys = new Set<unknown>([...roles, ...left.map(logicalId), ...relay]);
  const ends = gone.flatMap(({ name }) => [`:function:${name}`, `:rule/${name}`]);
  const isGone = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return false;
    const [text, name] = [Reflect.get(value, "Fn::Sub"), Reflect.get(value, "Ref")];
    return (
      name === "AWS::NoValue" ||
      roles.has(name) ||
      (typeof text === "string" && ends.some((end) => text.endsWith(end)))
    );
  };
  const prune = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((item) => !isGone(item)).map(prune);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) =>
        keys.has(key) || keys.has(outputOf(item)) ? [] : [[key, prune(item)]],
      ),
    );
  };
  const kept = Object.entries(functions).filter(([name]) => isKept(name));
  return {
    functions: Object.fromEntries(
      kept.map(([name, definition]) => [
        name,
        sessionRoles ? definition : { ...definition, ...withoutSessionRole(definition) },
      ]),
    ),
    resources: prune(resources),
  };
}

/** The resource that an output of the stack is about; undefined for whatever is no such output. */
function outputOf(item: unknown): unknown {
  if (typeof item !== "object" || item === null) return undefined;
  const value = Object(Reflect.get(item, "Value"));
  const attribute = Reflect.get(value, "Fn::GetAtt");
  return Array.isArray(attribute) ? attribute[0] : Reflect.get(value, "Ref");
}

/** The resources by which a function has a session role: ServiceSessionRole and ServiceSessionPolicy beside ServiceFunctionRole. */
function sessionOf({ role }: DeployedFunction): string[] {
  return ["SessionRole", "SessionPolicy"].map((end) => role.replace(/(FunctionRole)?$/, end));
}

function withoutSessionRole({ environment }: DeployedFunction): Pick<DeployedFunction, "environment"> {
  if (environment === undefined) return {};
  const { SESSION_ROLE_ARN: _, ...others } = environment;
  return { environment: others };
}

/** The name of a function's resource in the template, as osls makes it of the function's name. */
function logicalId(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("-", "Dash")}LambdaFunction`;
}

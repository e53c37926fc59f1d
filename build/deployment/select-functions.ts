/** The relevant fields of a function in serverless.yml. */
export interface DeployedFunction {
  readonly name: string;
  readonly role: string;
  readonly environment?: Readonly<Record<string, unknown>>;
}

/** The remaining parts of a deployment's template. */
export interface DeploymentSelection<Definition extends DeployedFunction = DeployedFunction> {
  readonly functions: Readonly<Record<string, Definition>>;
  readonly resources: unknown;
}

/** Functions that are useless without another one. */
const FOLLOWS: Readonly<Record<string, string>> = { "ec2-events": "node-lifecycle" };

/** Functions without a controller, deployed with any choice of controllers. */
const NO_CONTROLLERS = ["sweep", ...Object.keys(FOLLOWS)];

/** Functions that are deployed only if named: a URL is open to all callers that find it. */
const WHERE_NAMED: ReadonlySet<string> = new Set(["admission", "audit"]);

/** The policy with a relay's permissions; the deployment attaches it to no identity. */
const RELAY_POLICY = "RelayPolicy";

function isInvokedByRelays(name: string): boolean {
  return !NO_CONTROLLERS.includes(name) && !WHERE_NAMED.has(name);
}

/** Returns the functions of a deployment without a choice of controllers. */
export function selectDefaultFunctions(functions: readonly string[]): string[] {
  return selectOptionalFunctions(functions).filter((name) => !WHERE_NAMED.has(name));
}

/** Returns the functions that a deployment can leave out. */
export function selectOptionalFunctions(functions: readonly string[]): string[] {
  return functions.filter((name) => !NO_CONTROLLERS.includes(name));
}

/**
 * Leaves out every function whose controller is not chosen: itself, its roles, extensions of its resource,
 * and outputs of these. It also leaves out references to them in other resources, by `Ref` or at the end of
 * an ARN. Without `sessionRoles` it leaves out the roles for clusters that name none. `AWS::NoValue` is
 * removed from lists, as CloudFormation does within conditions.
 */
export function leaveOut<Definition extends DeployedFunction>(
  { controllers, sessionRoles }: { readonly controllers: readonly string[]; readonly sessionRoles: boolean },
  functions: Readonly<Record<string, Definition>>,
  resources: unknown,
): DeploymentSelection<Definition> {
  const isKept = (name: string): boolean => controllers.includes(FOLLOWS[name] ?? name) || name === "sweep";
  const left = Object.keys(functions).filter((name) => !isKept(name));
  const gone = left.flatMap((name) => functions[name] ?? []);
  const withoutSession = sessionRoles ? gone : Object.values(functions);
  const roles = new Set([...gone.map(({ role }) => role), ...withoutSession.flatMap(listSessionResources)]);
  // Without any controller's function a relay has nothing to invoke.
  const relay = Object.keys(functions).some((name) => isKept(name) && isInvokedByRelays(name))
    ? []
    : [RELAY_POLICY];
  const keys = new Set<unknown>([...roles, ...left.map(getLogicalId), ...relay]);
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
        keys.has(key) || keys.has(getOutputResource(item)) ? [] : [[key, prune(item)]],
      ),
    );
  };
  const kept = Object.entries(functions).filter(([name]) => isKept(name));
  return {
    functions: Object.fromEntries(
      kept.map(([name, definition]) => [
        name,
        sessionRoles ? definition : { ...definition, ...removeSessionRole(definition) },
      ]),
    ),
    resources: prune(resources),
  };
}

/** Returns the resource of a stack's output; undefined for other items. */
function getOutputResource(item: unknown): unknown {
  if (typeof item !== "object" || item === null) return undefined;
  const value = Object(Reflect.get(item, "Value"));
  const attribute = Reflect.get(value, "Fn::GetAtt");
  return Array.isArray(attribute) ? attribute[0] : Reflect.get(value, "Ref");
}

/**
 * Returns the resources of a function's session role: ServiceSessionRole and ServiceSessionPolicy for
 * ServiceFunctionRole.
 */
function listSessionResources({ role }: DeployedFunction): string[] {
  return ["SessionRole", "SessionPolicy"].map((end) => role.replace(/(FunctionRole)?$/, end));
}

function removeSessionRole({ environment }: DeployedFunction): Pick<DeployedFunction, "environment"> {
  if (environment === undefined) return {};
  const { SESSION_ROLE_ARN: _, ...others } = environment;
  return { environment: others };
}

/** Returns the name of a function's resource in the template, as osls derives it. */
export function getLogicalId(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("-", "Dash")}LambdaFunction`;
}

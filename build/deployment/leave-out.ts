/** A function of serverless.yml, as far as it matters here. */
export interface DeployedFunction {
  readonly name: string;
  readonly role: string;
}

/** What is left of a template of the deployment. */
export interface Chosen {
  readonly functions: readonly string[];
  readonly resources: unknown;
}

/** Functions that have nothing to do without another. */
const FOLLOWS: Readonly<Record<string, string>> = { "ec2-events": "node-lifecycle" };

/** Those that are no controller's, and are there whatever controllers are. */
const NO_CONTROLLERS = ["sweep", ...Object.keys(FOLLOWS)];

/** Those that are there only where somebody names them: what has a URL is asked by whoever finds it. */
const WHERE_NAMED: ReadonlySet<string> = new Set(["admission"]);

/** The functions of a deployment that says nothing of controllers. */
export function defaultOf(functions: readonly string[]): string[] {
  return choosableOf(functions).filter((name) => !WHERE_NAMED.has(name));
}

/** The functions that a deployment can be without. */
export function choosableOf(functions: readonly string[]): string[] {
  return functions.filter((name) => !NO_CONTROLLERS.includes(name));
}

/**
 * Leaves out every function whose controller is not among the chosen: itself, its role, what extends its resource, and each place at
 * which another resource names function or role, by `Ref` or at the end of an ARN.
 */
export function leaveOut(
  chosen: readonly string[],
  functions: Readonly<Record<string, DeployedFunction>>,
  resources: unknown,
): Chosen {
  const isKept = (name: string): boolean => chosen.includes(FOLLOWS[name] ?? name) || name === "sweep";
  const left = Object.keys(functions).filter((name) => !isKept(name));
  const gone = left.flatMap((name) => functions[name] ?? []);
  const roles = new Set(gone.map(({ role }) => role));
  const keys = new Set([...roles, ...left.map(logicalId)]);
  const ends = gone.flatMap(({ name }) => [`:function:${name}`, `:rule/${name}`]);
  const isGone = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return false;
    const text = Reflect.get(value, "Fn::Sub");
    return (
      roles.has(Reflect.get(value, "Ref")) ||
      (typeof text === "string" && ends.some((end) => text.endsWith(end)))
    );
  };
  const prune = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((item) => !isGone(item)).map(prune);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) => (keys.has(key) ? [] : [[key, prune(item)]])),
    );
  };
  return { functions: Object.keys(functions).filter(isKept), resources: prune(resources) };
}

/** The name of a function's resource in the template, as osls makes it of the function's name. */
function logicalId(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("-", "Dash")}LambdaFunction`;
}

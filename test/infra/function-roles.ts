/** Returns a function's role in serverless.yml, such as `NodeLifecycleFunctionRole`. */
export function getFunctionRole(functionName: string): string {
  return `${toPascalCase(functionName)}FunctionRole`;
}

/** Returns a name such as `node-lifecycle` as it begins the names of resources: `NodeLifecycle`. */
export function toPascalCase(name: string): string {
  return name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

import { createFault, type Fault, isFault } from "./fault.ts";
import type { Tags } from "./instance.ts";
import type { Parameters } from "./parameters.ts";
import { createMatcher, isLiteral } from "./wildcard.ts";

/** One filter of a request: it holds if any of its values matches. */
export interface Filter {
  readonly name: string;
  readonly values: readonly string[];
}

/** Returns the values of a resource under a filter's name. */
export type Field<T> = (value: T) => readonly (string | undefined)[];

/**
 * Possible filters: fields by their filters' names, and for tagged resources the filters `tag:KEY` and
 * `tag-key`.
 */
export interface Fields<T> {
  readonly byName: Readonly<Record<string, Field<T>>>;
  readonly tags?: (value: T) => Tags;
}

/** EC2's limits: filters in a call, and values in a call, of which its message says "on a single call". */
const MAX_FILTERS = 50;
const MAX_FILTER_VALUES = 200;
const MAX_VALUE_LENGTH = 255;

/** Returns the filters of a request, or EC2's fault. */
export function readFilters<T>(parameters: Parameters, fields: Fields<T>): readonly Filter[] | Fault {
  const filters: Filter[] = [];
  for (const structure of parameters.structures("Filter")) {
    const filter = readFilter(structure, fields);
    if (isFault(filter)) return filter;
    filters.push(filter);
  }
  if (filters.length > MAX_FILTERS) {
    return limitExceeded(`The maximum number of filters specified on a single call is ${MAX_FILTERS}`);
  }
  const count = filters.reduce((sum, { values }) => sum + values.length, 0);
  if (count > MAX_FILTER_VALUES) {
    return limitExceeded(
      `The maximum number of filter values specified on a single call is ${MAX_FILTER_VALUES}`,
    );
  }
  return filters;
}

/** Returns a check whether a resource passes all filters. */
export function createFilter<T>(filters: readonly Filter[], fields: Fields<T>): (value: T) => boolean {
  const tests = filters.map(({ name, values }) => {
    const field = findField(name, fields);
    const matchers = values.map(createMatcher);
    return (value: T) =>
      field?.(value).some((text) => text !== undefined && matchers.some((matches) => matches(text))) ?? false;
  });
  return (value) => tests.every((test) => test(value));
}

/**
 * Returns the values of the filter with that name if they have no wildcards, so that an index can answer it.
 */
export function getLiteralValues(filters: readonly Filter[], name: string): readonly string[] | undefined {
  return filters.find((filter) => filter.name === name && filter.values.every(isLiteral))?.values;
}

function readFilter<T>(structure: Parameters, fields: Fields<T>): Filter | Fault {
  const name = structure.text("Name");
  if (name === undefined || findField(name, fields) === undefined) {
    return createFault("InvalidParameterValue", `The filter '${name ?? "null"}' is invalid`);
  }
  const values = structure.list("Value");
  if (values.length === 0) {
    return createFault("InvalidParameterValue", `The filter '${name}' has no value`);
  }
  if (values.some(({ length }) => length > MAX_VALUE_LENGTH)) {
    return limitExceeded(`The maximum length for a filter value is ${MAX_VALUE_LENGTH} characters`);
  }
  return { name, values };
}

function findField<T>(name: string, { byName, tags }: Fields<T>): Field<T> | undefined {
  if (Object.hasOwn(byName, name)) return byName[name];
  if (tags === undefined) return undefined;
  if (name === "tag-key") return (value) => Object.keys(tags(value));
  if (!name.startsWith("tag:")) return undefined;
  const key = name.slice("tag:".length);
  return (value) => (Object.hasOwn(tags(value), key) ? [tags(value)[key]] : []);
}

function limitExceeded(message: string): Fault {
  return createFault("FilterLimitExceeded", message);
}

// Types of the parts of the framework that the page uses. The bundle itself has none.
export type Child = any;
export function h(type: any, props?: any, ...children: Child[]): Child;
export function render(child: Child, host: Element): void;
export const Fragment: (props: any) => Child;
export function html(strings: TemplateStringsArray, ...values: any[]): Child;
export function useEffect(run: () => void | (() => void), inputs?: any[]): void;
export function useLayoutEffect(run: () => void | (() => void), inputs?: any[]): void;
export function useMemo<T>(make: () => T, inputs: any[]): T;
export function useRef<T>(first: T): { current: T };
export function useState<T>(first: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export function useId(): string;
export function signal<T>(first: T): { value: T };

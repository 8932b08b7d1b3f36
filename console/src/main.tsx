// The console: signs in, then shows data, concurrency and the server.
import "./style.css";
import "uplot/dist/uPlot.min.css";
import { render } from "preact";
import { App } from "./view/app";

render(<App />, document.getElementById("root")!);
